"""Samples GPU, cores, disk and pressure while the script runs: a thread in the parent, in constant memory.

What cannot be measured is called unavailable, with the reason, and is in no series: there is never a 0 for unknown.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from torchperf_lint.runtime import host
from torchperf_lint.runtime.cgroup import AllowedCores, allowed_cores
from torchperf_lint.runtime.nvml import Gpu, Nvml, Source, UnavailableError
from torchperf_lint.runtime.pressure import Pressure
from torchperf_lint.runtime.processes import Process, Tree
from torchperf_lint.runtime.summaries import Course, Histogram, Summary

MEASURED = "measured"
_OVER_TIME = (
    *("busy_share", "machine_share", "main_cores", "others_cores", "io_share"),
    *("read_bytes_per_s", "written_bytes_per_s", ".memory_bytes", "tree_rss_bytes"),
)
"""The last part of the names of the series whose course over time is kept."""
_PATIENCE_S = 5.0
"""A driver that hangs may hold the report up for so long, in seconds."""


@dataclass(frozen=True)
class Utilisation:
    """What was measured; every series is named with its unit last (share: 0 to 1)."""

    period_s: float
    wall_s: float
    """Seconds from the sampler's start to its stop."""
    samples: int
    own_cpu_share: float
    """What the sampling itself used, as a share of one core."""
    states: Mapping[str, str]
    """Source -> "measured", "measured until 3.2 s: <reason>" or "unavailable: <reason>"."""
    series: Mapping[str, Summary]
    allowed_cores: AllowedCores | None
    gpus: Sequence[Gpu]
    processes: Sequence[Process]
    course_width_s: float
    course: Sequence[Mapping[str, float]]
    """At most summaries.BUCKETS stretches of the run: `t` (seconds) and the averages of some series."""
    started: float
    """When `t` is 0, in seconds since 1970: what tells where the steps stand in the course."""

    def to_dict(self) -> dict[str, Any]:
        """For the events file; plain JSON."""
        return asdict(self)


class Sampler:
    """Samples from its making until `stop`. No source's failure ends it, or another source."""

    def __init__(
        self,
        pid: int,
        period_s: float = 0.2,
        devices: Callable[[], Sequence[Gpu] | None] | None = None,
        import_module: Callable[[str], Any] = importlib.import_module,
    ) -> None:
        """`devices` is asked once a second for the GPUs that the script uses, until it gives another answer than None.

        See devices.py for one that reads the events file.
        """
        self._pid = pid
        self._period_s = period_s
        self._devices = devices
        self._import = import_module
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._sources: dict[str, Source] = {}
        self._states: dict[str, str] = {}
        self._histograms: dict[str, Histogram] = {}
        self._course = Course(period_s)
        self._samples = 0
        self._own_cpu_s = 0.0
        self._gpus: list[Gpu] = []
        self._asked_for: list[Gpu] = []
        self._nvml: Nvml | None = None
        self._tree: Tree | None = None
        self._allowed: AllowedCores | None = None
        self._started = time.monotonic()
        self._started_at = time.time()
        self._thread = threading.Thread(target=self._run, name="torchperf-lint sampler", daemon=True)
        self._thread.start()

    def watch_gpus(self, gpus: Sequence[Gpu]) -> None:
        """Sample these devices from now on; from any thread."""
        with self._lock:
            self._asked_for = [*self._asked_for, *gpus]

    def stop(self) -> Utilisation:
        """Ends the sampling and says what was measured. Waits for a hanging driver no longer than 5 s."""
        self._stopped.set()
        self._thread.join(_PATIENCE_S)
        wall_s = time.monotonic() - self._started
        with self._lock:
            return self._utilisation(wall_s, hangs=self._thread.is_alive())

    def _run(self) -> None:
        self._open("allowed cores", self._find_cores)
        self._open("processes", self._find_tree)
        for name, make in (("machine cpu", host.MachineCpu), ("disk", host.disk), ("network", host.network)):
            self._open(name, functools.partial(self._find_host, make))
        self._open("pressure", lambda: Pressure().sample)
        self._states["gpu"] = "unavailable: the script named no GPU"
        last = time.monotonic()
        while not self._stopped.wait(max(last + self._period_s - time.monotonic(), self._period_s / 10)):
            now = time.monotonic()
            self._sample(now - last)
            last = now
        if self._nvml is not None:
            with contextlib.suppress(Exception):
                self._nvml.close()

    def _open(self, name: str, make: Callable[[], Source | None]) -> None:
        """One source; what keeps it from being one becomes its state."""
        try:
            source = make()
        except Exception as error:  # noqa: BLE001 -- the border to drivers and systems: a source less, and why
            self._states[name] = f"unavailable: {_told(error)}"
            return
        if source is None:
            self._states[name] = MEASURED
        else:
            self._add(name, source)

    def _add(self, name: str, source: Source) -> None:
        self._sources[name] = source
        self._states[name] = "unavailable: nothing was to be read before the run ended"

    def _find_cores(self) -> None:
        self._allowed = allowed_cores(self._pid)

    def _find_host(self, make: Callable[[Any], host.MachineCpu | host.Rates]) -> Source:
        return make(self._import("psutil")).sample

    def _find_tree(self) -> Source:
        self._tree = Tree(self._import("psutil"), self._pid)
        return self._tree.sample

    def _sample(self, elapsed_s: float) -> None:
        at_s = time.monotonic() - self._started
        self._look_for_gpus()
        taken: dict[str, float] = {}
        for name, source in list(self._sources.items()):
            try:
                values = _checked(source(elapsed_s))
            except Exception as error:  # noqa: BLE001 -- the border to drivers and systems
                self._lost(name, at_s, error)
            else:
                taken |= values
                if values:
                    self._states[name] = MEASURED
        with self._lock:
            self._keep(at_s, taken)

    def _lost(self, name: str, at_s: float, error: Exception) -> None:
        del self._sources[name]
        began = "unavailable" if self._states[name] != MEASURED else f"measured until {at_s:.1f} s"
        self._states[name] = f"{began}: {_told(error)}"

    def _keep(self, at_s: float, taken: Mapping[str, float]) -> None:
        for series, value in taken.items():
            self._histograms.setdefault(series, Histogram()).add(value)
        self._course.add(at_s, {name: value for name, value in taken.items() if name.endswith(_OVER_TIME)})
        self._samples += 1
        self._own_cpu_s = time.thread_time()

    def _look_for_gpus(self) -> None:
        if self._devices is not None and self._samples % max(round(1 / self._period_s), 1) == 0:
            self._ask(self._devices)
        with self._lock:
            asked_for, self._asked_for = self._asked_for, []
        for gpu in asked_for:
            if gpu.index not in {known.index for known in self._gpus}:
                self._open_gpu(gpu)

    def _ask(self, devices: Callable[[], Sequence[Gpu] | None]) -> None:
        try:
            gpus = devices()
        except Exception as error:  # noqa: BLE001 -- the border to the caller
            gpus = []
            self._states["gpu"] = f"unavailable: {_told(error)}"
        if gpus is not None:
            self._devices = None
            self.watch_gpus(gpus)

    def _open_gpu(self, gpu: Gpu) -> None:
        try:
            if self._nvml is None:
                self._nvml = Nvml(self._import("pynvml"))
            gpu, sources = self._nvml.watch(gpu)
        except Exception as error:  # noqa: BLE001 -- the border to the driver
            self._states[f"gpu.{gpu.index}"] = self._states["gpu"] = f"unavailable: {_told(error)}"
            sources = {}
        else:
            self._states[f"gpu.{gpu.index}"] = self._states["gpu"] = MEASURED
        self._gpus = [*self._gpus, gpu]
        for name, source in sources.items():
            self._add(name, source)

    def _utilisation(self, wall_s: float, *, hangs: bool) -> Utilisation:
        states = dict(self._states)
        if hangs:
            states["sampler"] = f"unavailable: a source did not answer for {_PATIENCE_S:.0f} s"
        summaries = {name: histogram.summary() for name, histogram in sorted(self._histograms.items())}
        return Utilisation(
            period_s=self._period_s,
            wall_s=wall_s,
            samples=self._samples,
            own_cpu_share=self._own_cpu_s / wall_s,
            states=states,
            series={name: summary for name, summary in summaries.items() if summary is not None},
            allowed_cores=self._allowed,
            gpus=tuple(self._gpus),
            processes=tuple(self._tree.processes() if self._tree is not None else ()),
            course_width_s=self._course.width_s,
            course=self._course.points(),
            started=round(self._started_at, 3),
        )


def _checked(values: Mapping[str, float]) -> Mapping[str, float]:
    wrong = [name for name, value in values.items() if not math.isfinite(value) or value < 0]
    if wrong:
        raise UnavailableError(f"{wrong[0]} was read as {values[wrong[0]]}")
    return values


def _told(error: Exception) -> str:
    if isinstance(error, UnavailableError):
        return str(error)
    if isinstance(error, ModuleNotFoundError):
        distribution = {"pynvml": "nvidia-ml-py"}.get(error.name or "", error.name)
        return f"{distribution} is not installed"
    return f"{type(error).__name__}: {error}"
