"""One question a module, one public function a question."""
