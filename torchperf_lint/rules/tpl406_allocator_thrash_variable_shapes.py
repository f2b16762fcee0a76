"""TPL406."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from torchperf_lint.amounts import often, size
from torchperf_lint.bounds import DEFAULT, Bound
from torchperf_lint.evidence import Evidence
from torchperf_lint.rule import RunRule

_FEWEST_LOOKS = 3
_STILL_GROWING = 0.5
"""Share of looks, about one a second, in which memory was asked for; one longer batch, a first evaluation: less."""
_VARIABLES = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")


class AllocatorThrashVariableShapes(RunRule):
    """The caching allocator keeps going to the driver for memory after the warm-up.

    ## What it does
    Says that the allocator ran out of memory, emptied its cache and tried again, how often, or that it went on asking
    the driver for new blocks when every step should have found its own in the cache.

    ## Why it is slow
    The allocator keeps freed blocks for the next tensors of the same size. With shapes that differ from step to step
    the blocks do not fit: it asks the driver for more and, when there is none, waits for the device, gives the whole
    cache back and starts over.

    ## Example
    Batches padded to the longest of each, close to the limit of the device's memory.

    ## Use instead
    `PYTORCH_ALLOC_CONF=expandable_segments:True`, whose segments grow in place (experimental, and off by default). The
    longest batch first, so that its blocks serve all later ones. Batches of similar length (bucketing), or padded to
    few different lengths.

    ## When it is fine
    In the first passes of a run whose longest batch comes late.

    ## Fix safety
    Nothing is changed for you.

    ## Confirmed by
    `torch.cuda.memory_stats()` after the warm-up, about once a second: `num_alloc_retries`, `num_device_alloc`,
    `num_device_free`, and the peaks of what was reserved and allocated. Silent without a device, with the
    cudaMallocAsync backend, which does not count, and where `empty_cache` explains the requests (TPL401).

    ## References
    - PyTorch documentation, CUDA semantics: memory management.
    - PyTorch performance tuning guide: "Pre-allocate memory in case of variable input length".
    """

    code, name, since = "TPL406", "allocator-thrash-variable-shapes", "0.1.0"

    def diagnose(self, run: Evidence) -> Iterator[Bound]:
        """One, where the allocator did not settle."""
        seen = _Allocations.of(run)
        if seen is None:
            return
        if seen.retries:
            title = f"the allocator ran out of memory and started over {_times(seen.retries)} in {seen.steps} steps"
            evidence = [
                "each time it waits for the device and gives its cache back to the driver; how long was not measured"
            ]
        elif seen.keeps_growing and not _empties_its_cache(run):
            title = f"the allocator asks the driver for memory {often((seen.allocs or 0) / seen.steps)} times a step"
            evidence = [
                f"still so in {seen.growing} of {seen.looks} looks after the warm-up; how long it took was not measured"
            ]
        else:
            return
        yield Bound(self.code, self.name, title, "; ".join([*evidence, *seen.figures()]), _advice(run))


@dataclass(frozen=True)
class _Allocations:
    """What the allocator probe recorded; None is "not measured"."""

    steps: int
    looks: int
    growing: int
    """Looks at which blocks had been asked for since the last."""
    retries: int | None
    allocs: int | None
    frees: int | None
    reserved: int | None
    allocated: int | None

    @classmethod
    def of(cls, run: Evidence) -> _Allocations | None:
        found = run.state.get("allocations")
        if run.simulated or not isinstance(found, Mapping):
            return None
        names = ("retries", "device_allocs", "device_frees", "reserved_bytes", "allocated_bytes")
        retries, allocs, frees, reserved, allocated = (_whole(found.get(name)) for name in names)
        steps, looks, growing = (_whole(found.get(name)) or 0 for name in ("steps", "looks", "growing"))
        return cls(steps, looks, growing, retries, allocs, frees, reserved, allocated) if steps > 0 else None

    @property
    def keeps_growing(self) -> bool:
        if self.looks < _FEWEST_LOOKS or self.growing < _STILL_GROWING * self.looks or self.allocs is None:
            return False
        return self.allocs >= DEFAULT.named * self.steps

    def figures(self) -> Iterator[str]:
        """What was counted besides, as far as it was."""
        if self.allocs is not None and self.frees is not None:
            yield f"blocks asked for {self.allocs}, given back {self.frees}"
        if self.reserved is not None and self.allocated:
            ratio = f"{self.reserved / self.allocated:.1f} times"
            yield f"at most {size(self.reserved)} reserved, {ratio} the {size(self.allocated)} that tensors took"


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _empties_its_cache(run: Evidence) -> bool:
    return any(event.kind == "empty-cache" and event.steady for event in run.events)


def _advice(run: Evidence) -> str:
    shapes = "put the longest batch first, or make batches of similar length, if their shapes differ"
    environment = run.state.get("environment")
    settings = environment if isinstance(environment, Mapping) else {}
    if any("expandable_segments:true" in str(settings.get(name, "")).lower() for name in _VARIABLES):
        return f"{shapes}; or a smaller batch (expandable segments are on already)"
    return f"try PYTORCH_ALLOC_CONF=expandable_segments:True; {shapes}"
