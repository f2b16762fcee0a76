"""The whole machine, through psutil: how busy its cores, disks and network are."""

from __future__ import annotations

from typing import Any

_NOT_BUSY = ("idle", "iowait")
_COUNTED_TWICE = ("guest", "guest_nice")
"""Linux counts these within `user` and `nice`, too."""


class MachineCpu:
    """`cpu.machine_share` and, on Linux, `cpu.iowait_share`: of the time of all cores of the machine."""

    def __init__(self, psutil: Any) -> None:  # noqa: ANN401 -- the module
        self._read = psutil.cpu_times
        self._before = self._times()

    def sample(self, _elapsed_s: float) -> dict[str, float]:
        """The shares since the last sample; nothing where no tick has passed."""
        before, self._before = self._before, self._times()
        passed = {name: value - before[name] for name, value in self._before.items()}
        total = sum(passed.values())
        if total <= 0:
            return {}
        shares = {"cpu.machine_share": _within(1 - sum(passed.get(name, 0.0) for name in _NOT_BUSY) / total)}
        if "iowait" in passed:
            shares["cpu.iowait_share"] = _within(passed["iowait"] / total)
        return shares

    def _times(self) -> dict[str, float]:
        return {name: value for name, value in self._read()._asdict().items() if name not in _COUNTED_TWICE}


class Rates:
    """Counters that only grow, as what they grew by per second."""

    def __init__(self, read: Any, names: dict[str, str]) -> None:  # noqa: ANN401 -- a function of psutil
        """`names`: field of what `read()` gives -> series. Raises OSError where there is nothing to read."""
        self._read = read
        self._names = names
        self._before = self._counters()

    def sample(self, elapsed_s: float) -> dict[str, float]:
        """The rates over the last `elapsed_s` seconds."""
        before, self._before = self._before, self._counters()
        # A device that went away takes its counts along.
        return {series: max(value - before[series], 0) / elapsed_s for series, value in self._before.items()}

    def _counters(self) -> dict[str, float]:
        counters = self._read()
        if counters is None:
            raise OSError("the system counts none")
        return {series: getattr(counters, field) for field, series in self._names.items()}


def disk(psutil: Any) -> Rates:  # noqa: ANN401
    """Bytes per second of all block devices together; what passes through LVM or dm-crypt is counted at each layer."""
    return Rates(
        psutil.disk_io_counters,
        {"read_bytes": "disk.read_bytes_per_s", "write_bytes": "disk.written_bytes_per_s"},
    )


def network(psutil: Any) -> Rates:  # noqa: ANN401
    """Bytes per second that all interfaces received, loopback included."""
    return Rates(psutil.net_io_counters, {"bytes_recv": "network.received_bytes_per_s"})


def _within(share: float) -> float:
    return min(max(share, 0.0), 1.0)
