"""Several training processes, one report: where each rank writes, and waiting for the others to end."""

from __future__ import annotations

import glob
import os
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from torchperf_lint.errors import UsageError
from torchperf_lint.events import SUFFIX, UnreadableRecordError, read
from torchperf_lint.patterns import pattern
from torchperf_lint.runtime.launch import events_files
from torchperf_lint.runtime.placement import name_of_run

PATIENCE_S = 10.0
"""How long rank 0 waits for the other ranks of its node once its own script has ended."""
_RANK = pattern(rf"\.rank(\d+){re.escape(SUFFIX)}$")


def events_path(asked: str | None, rank: int | None, environment: Mapping[str, str]) -> str:
    """Absolute path of this process's events file; ranks of one run share a stem.

    Without `asked` it is `torchperf-<pid>.events.jsonl` in the working directory; under a launcher what it calls the
    run, or the port that all ranks meet at, takes the place of the pid, which they do not share.
    """
    if rank is None:
        return os.path.abspath(asked or f"torchperf-{os.getpid()}{SUFFIX}")
    shared = name_of_run(environment) or str(os.getppid())
    stem = (asked or f"torchperf-{_plain(shared)}").removesuffix(SUFFIX)
    return os.path.abspath(f"{stem}.rank{rank}{SUFFIX}")


def recorded(names: Sequence[str]) -> list[str]:
    """The events files that are meant: files, folders of them, patterns (`node*/*.jsonl`) that no shell expanded.

    One file stands for those of all ranks beside it, and of processes it started. Raises UsageError for a folder
    without any, or a pattern that nothing fits.
    """
    if len(names) == 1 and Path(names[0]).is_file():
        return siblings(names[0])
    return list(dict.fromkeys(path for name in names for path in _meant(name)))


def _meant(name: str) -> list[str]:
    if Path(name).is_dir():
        found = sorted(str(path) for path in Path(name).glob(f"*{SUFFIX}"))
    elif glob.has_magic(name) and not Path(name).exists():
        found = sorted(glob.glob(name))
    else:
        return [name]
    if not found:
        raise UsageError(f"no events file (*{SUFFIX}) is there: {name}")
    return found


def siblings(path: str) -> list[str]:
    """Events files of the ranks of one run that exist, this one's among them, by rank; else of what it started."""
    match = _RANK.search(path)
    if match is None:
        return events_files(path) or [path]
    stem = Path(path[: match.start()])
    found = {f: _RANK.search(f.name) for f in stem.parent.iterdir() if f.name.startswith(f"{stem.name}.rank")}
    return [str(f) for f, m in sorted(found.items(), key=lambda item: int(item[1][1]) if item[1] else 0) if m]


def wait_for(path: str, world: int, patience_s: float = PATIENCE_S) -> list[str]:
    """The ranks' files once all have ended, or those that there are when patience is."""
    deadline = time.monotonic() + patience_s
    while True:
        found = siblings(path)
        if len(found) >= world and all(_has_ended(f) for f in found if f != path):
            return found
        if time.monotonic() >= deadline:
            return found
        time.sleep(0.1)


def _has_ended(path: str) -> bool:
    try:
        return read(path).ended is not None
    except (OSError, UnreadableRecordError):
        return False


def _plain(text: str) -> str:
    return re.sub(r"[^\w-]", "_", text)
