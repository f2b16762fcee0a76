"""The parent of a watched run: starts the script as plain Python, outlives it, and says how it ended."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from torchperf_lint.errors import UsageError
from torchperf_lint.events import SUFFIX
from torchperf_lint.runtime.request import Request
from torchperf_lint.runtime.signals import Relay, end_like

__all__ = ["Ended", "Sampling", "end_like", "events_files", "run"]

Measured_co = TypeVar("Measured_co", covariant=True)


class Sampling(Protocol[Measured_co]):
    """What watches the machine while the child runs; started when it is made."""

    def stop(self) -> Measured_co:
        """Ends the sampling and gives what was measured."""
        ...


@dataclass(frozen=True)
class Ended(Generic[Measured_co]):
    """How a watched run ended, and what it left."""

    returncode: int
    """The exit code, or minus the number of the signal that ended the script."""
    wall_s: float
    """Seconds from the start of the child's interpreter to its end."""
    interrupted: bool
    """Whether Ctrl-C (SIGINT) came while the script ran."""
    utilisation: Measured_co | None
    """What the sampler measured; None where there was none."""
    events: tuple[str, ...]
    """The events files that were written: the script's own first, then those of processes it started, by name."""
    unwatched: str | None
    """Why the start-up hook failed in the script's process; None if it did not."""


def run(request: Request, sampler_factory: Callable[[int], Sampling[Measured_co]] | None = None) -> Ended[Measured_co]:
    """Runs the script to its end, whatever that is, sampling meanwhile; the sampler is made with the child's pid.

    Call it on the main thread: the kernel ties a child's end to the thread that started it. Signals are handled as
    signals.py says, and afterwards as before. Raises UsageError, before anything has started, for what cannot run.
    """
    request.check()
    _remove_earlier(request.events)
    started = time.monotonic()
    with Relay() as relay:
        pid = _start(relay, request)
        sampler = sampler_factory(pid) if sampler_factory is not None else None
        returncode = relay.wait(pid)
    wall_s = time.monotonic() - started
    return Ended(
        returncode=returncode,
        wall_s=wall_s,
        interrupted=relay.interrupted,
        utilisation=sampler.stop() if sampler is not None else None,
        events=tuple(events_files(request.events)),
        unwatched=_take_failure(request.events),
    )


def events_files(events: str) -> list[str]:
    """The events files of one run that exist: `events`, then `<stem>.<pid>.events.jsonl` beside it, by pid."""
    main = Path(events)
    of_child = re.compile(rf"{re.escape(main.name.removesuffix(SUFFIX))}\.(\d+){re.escape(SUFFIX)}")
    children = {path: match for path in main.parent.iterdir() if (match := of_child.fullmatch(path.name))}
    by_pid = sorted(children, key=lambda path: int(children[path][1]))
    return [str(path) for path in ([main] if main.exists() else []) + by_pid]


def _start(relay: Relay, request: Request) -> int:
    try:
        return relay.start(request.command(), request.environment(os.environ))
    except OSError as error:
        raise UsageError(f"cannot run {request.command()[0]}: {error.strerror}") from error


def _remove_earlier(events: str) -> None:
    """A file of the same name is an earlier run's: this run's record takes its place, like any output file."""
    for path in (*events_files(events), str(_failure_file(events))):
        try:
            Path(path).unlink(missing_ok=True)
        except OSError as error:
            raise UsageError(f"the events file cannot be written: {error}") from error


def _failure_file(events: str) -> Path:
    return Path(f"{events}.failed")


def _take_failure(events: str) -> str | None:
    """What startup/sitecustomize.py left there when it failed."""
    with contextlib.suppress(FileNotFoundError):
        reason = _failure_file(events).read_text(encoding="utf-8")
        _failure_file(events).unlink()
        return reason
    return None
