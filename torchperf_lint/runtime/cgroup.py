"""How many cores a process may use: its affinity, and the CPU quota of its control groups (versions 1 and 2)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class AllowedCores:
    """The cores that a process may keep busy at once; a quota may be a fraction."""

    cores: float
    source: str
    """What limits it: "cpu count", "affinity", "cgroup v1 quota" or "cgroup v2 quota"."""


def allowed_cores(pid: int, root: Path = Path("/")) -> AllowedCores:
    """The smallest limit on `pid`. A cpuset is part of the affinity, as the kernel reports it.

    `root` is where /proc and /sys are looked for. Raises OSError if the process is gone.
    """
    limits = [_cores(pid)]
    limits += [AllowedCores(cores, "cgroup v2 quota") for cores in _quotas_v2(pid, root)]
    limits += [AllowedCores(cores, "cgroup v1 quota") for cores in _quotas_v1(pid, root)]
    return min(limits, key=lambda limit: limit.cores)


def _cores(pid: int) -> AllowedCores:
    if hasattr(os, "sched_getaffinity"):
        return AllowedCores(len(os.sched_getaffinity(pid)), "affinity")
    return AllowedCores(os.cpu_count() or 1, "cpu count")


def _quotas_v2(pid: int, root: Path) -> Iterator[float]:
    for directory in _groups(pid, root, "", [root / "sys/fs/cgroup", root / "sys/fs/cgroup/unified"]):
        quota, _, period = _read(directory / "cpu.max").partition(" ")
        if quota.isdecimal() and period.isdecimal():
            yield int(quota) / int(period)


def _quotas_v1(pid: int, root: Path) -> Iterator[float]:
    mounts = [root / "sys/fs/cgroup" / name for name in ("cpu", "cpu,cpuacct")]
    for directory in _groups(pid, root, "cpu", mounts):
        quota, period = _read(directory / "cpu.cfs_quota_us"), _read(directory / "cpu.cfs_period_us")
        if quota.isdecimal() and period.isdecimal():
            yield int(quota) / int(period)


def _groups(pid: int, root: Path, controller: str, mounts: list[Path]) -> Iterator[Path]:
    """The directories of the process's group and of those above it; each of them may limit it."""
    for line in _read(root / f"proc/{pid}/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not number.isdecimal() or controller not in controllers.split(","):
            continue
        # A container may see the host's path, which does not exist below its own mount: then the mount is its group.
        own = Path(path.lstrip("/"))
        for mount in mounts:
            yield from (mount / group for group in (own, *own.parents))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
