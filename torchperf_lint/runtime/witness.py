"""Tells a signal sent to our whole process group from one sent to us alone; the kernel says neither.

torchrun, `timeout` and SLURM signal whole groups: the script has such a signal already, and a second one would
interrupt the very clean-up that the first began.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import time
from collections.abc import Sequence
from pathlib import Path

_LOOKS, _BETWEEN_S = 5, 0.002
"""The kernel signals the members of a group one after another: so often is looked, so many seconds apart."""


class Witness:
    """A process of our group that does nothing and keeps every signal it gets pending, where /proc shows it."""

    def __init__(self, signals: Sequence[int]) -> None:
        """Raises OSError where no such process can be had."""
        self._signals = signals
        cat = shutil.which("cat", path=os.defpath)
        if cat is None:
            raise FileNotFoundError("there is no cat")
        self._cat = cat
        self._ends = os.pipe()
        self._pid = self._start()

    def saw(self, number: int) -> bool:
        """Whether it got signal `number` as well, since it was last asked about any that it saw."""
        for _ in range(_LOOKS):
            if self._pending() >> (number - 1) & 1:
                self._end()
                self._pid = self._start()
                return True
            time.sleep(_BETWEEN_S)
        return False

    def close(self) -> None:
        """End the process."""
        self._end()
        for descriptor in self._ends:
            os.close(descriptor)

    def _start(self) -> int | None:
        """`cat` on a pipe that nobody writes to: it ends when we do, however that is. None where it cannot start."""
        nowhere = [(os.POSIX_SPAWN_OPEN, output, os.devnull, os.O_WRONLY, 0) for output in (1, 2)]
        actions = [(os.POSIX_SPAWN_DUP2, self._ends[0], 0), *nowhere]
        try:
            return os.posix_spawn(self._cat, ["cat"], {}, file_actions=actions, setsigmask=self._signals)
        except OSError:
            return None

    def _end(self) -> None:
        if self._pid is None:
            return
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)

    def _pending(self) -> int:
        try:
            status = Path(f"/proc/{self._pid}/status").read_text("ascii")
        except OSError:
            return 0
        found = re.search(r"^ShdPnd:\s*([0-9a-f]+)", status, re.MULTILINE)
        return int(found[1], 16) if found else 0
