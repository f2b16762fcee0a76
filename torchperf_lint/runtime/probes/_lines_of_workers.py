"""Lines that ran in forked loader workers, told to the process whose record they belong to.

Workers write no record of their own. They append to a nameless file in memory that they inherited; the parent reads
on from where it was.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator

_SEPARATOR = "\0"


class Mailbox:
    """Opened by the parent before it forks. Each message is one append, which the kernel does not interleave."""

    def __init__(self) -> None:
        """Raises AttributeError where the system has no files in memory."""
        self._file = os.memfd_create("torchperf-lint")
        fcntl.fcntl(self._file, fcntl.F_SETFL, os.O_APPEND)
        self._read = 0

    def tell(self, path: str, line: int, times: int) -> None:
        """From a worker: this line has run so often here. Raises OSError."""
        os.write(self._file, f"{path}{_SEPARATOR}{line}{_SEPARATOR}{times}\n".encode("utf-8", "surrogateescape"))

    def told(self) -> Iterator[tuple[str, int, int]]:
        """What workers have told since the last time."""
        size = os.fstat(self._file).st_size
        text = os.pread(self._file, size - self._read, self._read)
        self._read += len(text)
        for message in text.decode("utf-8", "surrogateescape").splitlines():
            path, line, times = message.split(_SEPARATOR)
            yield path, int(line), int(times)
