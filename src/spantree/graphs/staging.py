"""Files that appear when they are complete, or not at all."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["staged", "staged_folder"]


@contextmanager
def staged(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A name to write to, in the same folder; what is there at the end is renamed to ``path``.

    If the block raises, nothing is left of it, and a file that was there before stays as it was.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory, not a file to be written")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} to write {path.name} to")
    # The extension stays, for writers that go by it.
    partial = path.with_name(f".{path.stem}.{os.getpid()}.partial{path.suffix}")
    try:
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def staged_folder(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """The same for a folder of files, which is made if it is not there.

    In one that is there the files replace those of the same names, each complete.
    """
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{folder} is a file, not a folder to write to")
    if not folder.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {folder.parent} to make {folder.name} in")
    # Of a path like ".." the last part is no name.
    resolved = folder.resolve()
    partial = resolved.with_name(f".{resolved.name}.{os.getpid()}.partial")
    partial.mkdir()
    try:
        yield partial
        if folder.exists():
            for file in sorted(partial.iterdir()):
                os.replace(file, folder / file.name)
        else:
            os.replace(partial, folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
