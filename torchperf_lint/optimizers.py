"""The optimizers of a run, and what their steps took on the host. Torch-free."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torchperf_lint.bounds import OPTIMIZER
from torchperf_lint.evidence import Evidence
from torchperf_lint.model import Location


@dataclass(frozen=True)
class Optimizer:
    """One optimizer as it was when it first stepped; several that are alike count as one."""

    name: str
    """Its class."""
    tensors: int
    parameters: int
    """Elements of them all."""
    devices: tuple[str, ...]
    switches: Mapping[str, Any]
    """`fused`, `foreach` and `capturable`, those that it has."""
    package: str | None
    """The package that defines the class; None where the project does, or the record does not tell."""
    place: tuple[str, int] | None
    """Path and first line of its `step`, where that is the project's."""
    last: int = 0

    @property
    def on_cpu(self) -> bool:
        """Whether all it updates is on the CPU."""
        return set(self.devices) <= {"cpu"}

    def steps_at(self, location: Location) -> bool:
        """Whether a place lies within its `step`."""
        return self.place is not None and self.place[0] == location.path and self.place[1] <= location.line <= self.last


def optimizers_of(run: Evidence) -> tuple[Optimizer, ...]:
    """Those that stepped, in the order in which they began, each kind once."""
    found: list[Optimizer] = []
    for one in run.state.get("optimizers") or ():
        made = _optimizer(one)
        if made not in found:
            found.append(made)
    return tuple(found)


def _optimizer(one: Mapping[str, Any]) -> Optimizer:
    step, switches = one.get("step"), one.get("switches") or {}
    # Records from before the module was kept: these switches are torch's.
    module = one.get("module") or ("torch" if "foreach" in switches else None)
    return Optimizer(
        name=str(one.get("class")),
        tensors=int(one.get("tensors") or 0),
        parameters=int(one.get("parameters") or 0),
        devices=tuple(one.get("devices") or ()),
        switches=switches,
        package=str(module).partition(".")[0] if module is not None and step is None else None,
        place=(str(step["path"]), int(step["line"])) if step else None,
        last=int(step["last"]) if step else 0,
    )


def step_of(run: Evidence) -> tuple[float, int]:
    """(ms after the warm-up, calls) of the optimizers' steps, which the timeline does not tell apart."""
    segments = [segment for segment in run.segments if segment.phase == OPTIMIZER]
    return sum(segment.ms for segment in segments), sum(segment.times for segment in segments)
