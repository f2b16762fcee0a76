"""Starts a child and waits for it, passing on the signals that were meant for it.

A signal from the terminal (Ctrl-C, Ctrl-backslash, hang-up) reaches every process of the foreground group, so the
child has it already; one that a process sent with kill() reached us alone and is passed on. Linux tells them apart
by the signal's si_code. One that was sent to our whole group has reached the child, too; witness.py tells. Where
si_code is not to be had (macOS), Ctrl-C is what comes while we are in the foreground, and all else is passed on.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Mapping
from types import FrameType, TracebackType
from typing import Any

from torchperf_lint.runtime.witness import Witness

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGCONT")
_LOOK_S = 1.0
"""How often the child is looked for in case its SIGCHLD went astray, in seconds."""


class Relay:
    """While it is entered, signals do not end us: they wait for `wait` to pass them on."""

    interrupted = False
    """Whether a SIGINT came, from the terminal or from a process."""

    def __init__(self) -> None:
        # What is ignored already (nohup, a shell's background job) stays so, in the child as well.
        self._signals = [number for number in _passed_on() if signal.getsignal(number) is not signal.SIG_IGN]
        self._precise = hasattr(signal, "sigtimedwait")
        self._mask: set[Any] = set()
        self._handlers: dict[int, Any] = {}
        self._pid: int | None = None
        self._witness: Witness | None = None

    def __enter__(self) -> Relay:
        if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
            # Otherwise the kernel would throw the child's exit status away.
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        if self._precise:
            self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, self._held())
            with contextlib.suppress(OSError):
                self._witness = Witness(self._signals)
        else:
            self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
            self._handlers = {number: signal.signal(number, self._on_signal) for number in self._signals}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        if self._witness is not None:
            self._witness.close()
        # What came in the child's last moments was meant for it, and shall not end us at the report.
        while self._precise and signal.sigtimedwait(self._held(), 0) is not None:
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)

    def start(self, command: list[str], environment: Mapping[str, str]) -> int:
        """Starts `command` with our descriptors, group and directory, and the signal mask we had; returns its pid.

        Raises OSError if it cannot be started.
        """
        # Python ignores these two for itself; its children are to find them as they were.
        restored = [signal.SIGPIPE, signal.SIGXFSZ]
        self._pid = os.posix_spawn(command[0], command, environment, setsigmask=self._mask, setsigdef=restored)
        return self._pid

    def wait(self, pid: int) -> int:
        """Waits for the child's end; its exit code, or minus the number of the signal that ended it."""
        while self._precise:
            info = signal.sigtimedwait(self._held(), _LOOK_S)
            if info is not None and info.si_signo != signal.SIGCHLD:
                self._pass_on(info.si_signo, from_process=info.si_code <= 0)
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                self._pid = None
                return os.waitstatus_to_exitcode(status)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        self._pid = None
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def _held(self) -> list[int]:
        return [*self._signals, signal.SIGCHLD]

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        typed = number in (signal.SIGINT, signal.SIGQUIT) and _in_foreground()
        self._pass_on(number, from_process=not typed)

    def _pass_on(self, number: int, *, from_process: bool) -> None:
        self.interrupted |= number == signal.SIGINT
        to_group = self._witness is not None and self._witness.saw(number)
        if from_process and not to_group and self._pid is not None:
            os.kill(self._pid, number)


def end_like(returncode: int) -> None:
    """Ends this process as the child ended: with its exit code, or by the same signal. Never returns."""
    if returncode >= 0:
        sys.exit(returncode)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    number = -returncode
    _write_no_core()
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    # Process 1 of a container outlives its signals; shells call the same end by this number.
    os._exit(128 + number)


def _write_no_core() -> None:
    """The script left its own core file if one was wanted; ours would only hide it."""
    import resource

    _soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))


def _passed_on() -> list[int]:
    return [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]


def _in_foreground() -> bool:
    """Whether Ctrl-C at the terminal reaches our group: all that can be known without si_code (macOS)."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
