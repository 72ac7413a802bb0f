"""Show the examples of docstrings as examples in the reference.

Our docstrings say "Example:", as there is one; the parser of Google style knows "Examples:" alone,
and would take the prompts of the former for quotations.
"""

import re
from typing import Any

from griffe import Extension, Object


class ExampleSections(Extension):
    """Tells the parser that an example is a section of examples."""

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = re.sub(
                r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE
            )
