"""Numbered versions in a folder that a server watches: each is there whole or not at all."""

import itertools
import pathlib
import tempfile


def write_version(folder, write):
    """Write the next version.

    TensorFlow Serving looks at the subfolders whose names are numbers and serves the highest. So what is unfinished has
    another name, and one rename makes it a version. After an error nothing of it is left, and older versions are as
    they were.

    Args:
        folder: created if missing.
        write: function of the `pathlib.Path` of a folder that it must make.

    Returns:
        `pathlib.Path` of the version.
    """
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".writing-") as parent:
        unfinished = pathlib.Path(parent) / "model"
        write(unfinished)
        return _take_number(unfinished, folder)


def _take_number(unfinished, folder):
    taken = [int(path.name) for path in folder.iterdir() if path.name.isdecimal()]
    for number in itertools.count(max(taken, default=0) + 1):
        path = folder / str(number)
        try:
            return unfinished.rename(path)
        except OSError:
            if not path.exists():  # Else another export has taken the number meanwhile.
                raise
