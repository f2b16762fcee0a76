"""Linux's pressure stall information: the share of time in which some task of the machine waited for a resource."""

from __future__ import annotations

from pathlib import Path

_RESOURCES = ("cpu", "io", "memory")


class Pressure:
    """`pressure.<resource>_share`: of the time since the last sample, from the kernel's totals in microseconds."""

    def __init__(self, root: Path = Path("/proc/pressure")) -> None:
        """Raises OSError where the kernel does not tell."""
        self._root = root
        self._before = self._totals()

    def sample(self, elapsed_s: float) -> dict[str, float]:
        """The shares over the last `elapsed_s` seconds."""
        before, self._before = self._before, self._totals()
        return {
            f"pressure.{resource}_share": min((total - before[resource]) / 1e6 / elapsed_s, 1.0)
            for resource, total in self._before.items()
        }

    def _totals(self) -> dict[str, int]:
        return {resource: _total((self._root / resource).read_text("ascii")) for resource in _RESOURCES}


def _total(text: str) -> int:
    """From `some avg10=0.00 avg60=0.01 avg300=0.03 total=3323773`, the first line."""
    return int(text.splitlines()[0].rpartition("total=")[2])
