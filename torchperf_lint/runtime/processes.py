"""The script's process and its descendants, through psutil: CPU time, memory, storage reads, and who waits for disk."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KEPT = 64
"""Ended processes beyond so many are told as one sum: loaders start new workers for every epoch."""


@dataclass
class Process:
    """What is known of one process, or of several that have ended."""

    name: str
    main: bool
    pid: int | None
    """None for a sum."""
    processes: int = 1
    cpu_s: float = 0.0
    """User and system time, in seconds, as of its last sample."""
    read_bytes: float | None = None
    """Read from storage, not from the page cache; None where the system does not tell. Network file systems and
    memory-mapped pages that were cached are not in it."""
    samples: int = 0
    in_disk_sleep: int = 0
    """Samples in which its first thread stood in state D: waiting for storage, not to be interrupted."""


class Tree:
    """The series `cpu.main_cores` (what the script's own process uses), `cpu.others_cores` (its descendants: loader
    workers and whatever else), `cpu.main_threads`, `memory.main_rss_bytes`, `memory.tree_rss_bytes` (shared pages
    count once for each process), `processes.others` and, where readable, `disk.tree_read_bytes_per_s`.
    """

    def __init__(self, psutil: Any, pid: int) -> None:  # noqa: ANN401 -- the module
        """Raises psutil.NoSuchProcess if the process has ended already."""
        self._psutil = psutil
        self._main = pid
        self._open: dict[int, Any] = {pid: psutil.Process(pid)}
        self._known: dict[int, Process] = {}
        self._ended: list[Process] = []
        self._rest = Process("(ended)", main=False, pid=None, processes=0, read_bytes=0.0)

    def sample(self, elapsed_s: float) -> dict[str, float]:
        """The series over the last `elapsed_s` seconds; nothing once the main process has ended."""
        self._find()
        sums = {"main": 0.0, "others": 0.0, "read": 0.0, "rss": 0.0}
        values: dict[str, float] = {}
        for pid, handle in list(self._open.items()):
            try:
                values |= self._look(pid, handle, sums)
            except (self._psutil.NoSuchProcess, self._psutil.ZombieProcess):
                self._close(pid)
        if self._main not in self._open:
            return {}
        values["cpu.main_cores"] = sums["main"] / elapsed_s
        values["cpu.others_cores"] = sums["others"] / elapsed_s
        if sums["rss"]:  # a process that ends gives its memory back before it is gone
            values["memory.tree_rss_bytes"] = sums["rss"]
        values["processes.others"] = len(self._open) - 1
        if all(self._known[pid].read_bytes is not None for pid in self._open):
            values["disk.tree_read_bytes_per_s"] = sums["read"] / elapsed_s
        return values

    def processes(self) -> list[Process]:
        """All that were seen, the main process first, then by CPU time."""
        everyone = [*self._known.values(), *self._ended, *([self._rest] if self._rest.processes else [])]
        return sorted(everyone, key=lambda process: (not process.main, -process.cpu_s, process.pid or 0))

    def _look(self, pid: int, handle: Any, sums: dict[str, float]) -> dict[str, float]:  # noqa: ANN401
        """One process: adds to its record and to `sums`; gives the series that only the main process has."""
        main = pid == self._main
        with handle.oneshot():
            times, status, rss = handle.cpu_times(), handle.status(), handle.memory_info().rss
            threads = handle.num_threads() if main else 0
            known = self._known.get(pid) or Process(handle.name(), main, pid)
        if status == self._psutil.STATUS_ZOMBIE:
            raise self._psutil.ZombieProcess(pid)
        self._known[pid] = known
        sums["main" if main else "others"] += times.user + times.system - known.cpu_s
        sums["rss"] += rss
        known.cpu_s = times.user + times.system
        known.samples += 1
        known.in_disk_sleep += status == self._psutil.STATUS_DISK_SLEEP
        read = self._read_bytes(handle)
        if read is not None:
            sums["read"] += read - (known.read_bytes or 0.0)
        known.read_bytes = read
        return {"cpu.main_threads": threads, **({"memory.main_rss_bytes": rss} if rss else {})} if main else {}

    def _read_bytes(self, handle: Any) -> float | None:  # noqa: ANN401
        try:
            return float(handle.io_counters().read_bytes)
        except (AttributeError, self._psutil.AccessDenied, NotImplementedError):
            return None

    def _find(self) -> None:
        """Descendants that are new."""
        for pid in self._descendants():
            if pid not in self._open:
                try:
                    self._open[pid] = self._psutil.Process(pid)
                except self._psutil.NoSuchProcess:
                    continue

    def _descendants(self) -> list[int]:
        """From /proc/<pid>/task/*/children: psutil would read every process of the machine."""
        found = _children(self._main)
        if found is None:
            try:
                return [child.pid for child in self._open[self._main].children(recursive=True)]
            except (KeyError, self._psutil.NoSuchProcess):
                return []
        for pid in found:
            found += _children(pid) or []
        return found

    def _close(self, pid: int) -> None:
        del self._open[pid]
        process = self._known.pop(pid, None)
        if process is None:
            return
        self._ended.append(process)
        if len(self._ended) >= KEPT:
            self._fold()

    def _fold(self) -> None:
        """Adds the ended process that used least to the sum of such."""
        least = min(self._ended, key=lambda process: (process.main, process.cpu_s))
        self._ended.remove(least)
        rest = self._rest
        if rest.read_bytes is not None:
            rest.read_bytes = None if least.read_bytes is None else rest.read_bytes + least.read_bytes
        rest.processes += least.processes
        rest.cpu_s += least.cpu_s
        rest.samples += least.samples
        rest.in_disk_sleep += least.in_disk_sleep


def _children(pid: int) -> list[int] | None:
    """None where this kernel does not tell (no CONFIG_PROC_CHILDREN, no Linux), or the process is gone."""
    found: list[int] | None = None
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                found = (found or []) + [int(child) for child in (thread / "children").read_text("ascii").split()]
    return found
