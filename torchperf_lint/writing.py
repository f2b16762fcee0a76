"""Replaces a file: all at once or not at all, and only while it still is what was read."""

from __future__ import annotations

import os
from pathlib import Path

from torchperf_lint.errors import CannotFix


def write(path: Path, before: bytes, after: bytes) -> None:
    """Put `after` where `before` is. Raises CannotFix, with the file as it was, for whatever stands in the way.

    A link is followed; mode, owner and extended attributes are kept. Other names of the same file (hard links)
    keep the old content.
    """
    try:
        real = Path(os.path.realpath(path))
        if real.read_bytes() == after:  # another name of a file that was fixed already
            return
        status = real.stat()
        # A superuser may write anything; what says of itself that nobody should is left alone all the same.
        if not status.st_mode & 0o222 or not os.access(real, os.W_OK):
            raise CannotFix("it is read-only")
        _replace(real, status, before, after)
    except OSError as error:
        raise CannotFix(f"it cannot be written: {(error.strerror or str(error)).lower()}") from None


def _replace(real: Path, status: os.stat_result, before: bytes, after: bytes) -> None:
    import shutil  # both are dear, and most runs write nothing
    import tempfile

    handle, name = tempfile.mkstemp(prefix=f".{real.name}.", suffix=".torchperf-lint", dir=real.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(after)
            file.flush()
            os.fsync(file.fileno())
        _keep_owner(name, status)
        shutil.copystat(real, name)
        os.utime(name)
        if real.read_bytes() != before:
            raise CannotFix("it changed on disk meanwhile")
        os.replace(name, real)  # noqa: PTH105
    except BaseException:
        os.unlink(name)  # noqa: PTH108
        raise


def _keep_owner(name: str, status: os.stat_result) -> None:
    made = os.stat(name)  # noqa: PTH116
    if hasattr(os, "chown") and (made.st_uid, made.st_gid) != (status.st_uid, status.st_gid):
        try:
            os.chown(name, status.st_uid, status.st_gid)
        except PermissionError:
            raise CannotFix("it belongs to somebody else, and would not any more") from None
