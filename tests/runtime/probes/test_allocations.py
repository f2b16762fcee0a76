"""What the caching allocator asked the driver for: counted from a device's own figures, never made up."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from torchperf_lint.evidence import Evidence
from torchperf_lint.recorded import Event
from torchperf_lint.rules.tpl406_allocator_thrash_variable_shapes import AllocatorThrashVariableShapes
from torchperf_lint.runtime.probes._allocations import Allocations


@dataclass
class FakeCuda:
    """`torch.cuda`, as far as allocations are concerned."""

    stats: dict = field(default_factory=dict)
    opened: bool = True
    backend: str = "native"
    asked: int = 0

    def is_initialized(self):
        return self.opened

    def get_allocator_backend(self):
        return self.backend

    def memory_stats_as_nested_dict(self):
        self.asked += 1
        return self.stats


def stats(retries=0, allocs=100, frees=0, reserved=8e9, allocated=5e9):
    return {
        "num_alloc_retries": retries,
        "num_device_alloc": allocs,
        "num_device_free": frees,
        "reserved_bytes": {"all": {"current": 1, "peak": int(reserved)}, "small_pool": {"peak": 3}},
        "allocated_bytes": {"all": {"current": 1, "peak": int(allocated)}},
        "inactive_split_bytes": {"all": {"current": 77, "peak": 99}},
    }


@pytest.fixture
def cuda():
    return FakeCuda(stats())


@pytest.fixture
def allocations(watched, cuda):
    return Allocations(watched, SimpleNamespace(cuda=cuda))


def look(allocations, steps, **changes):
    """The value written when this many steps were made; None where nothing was."""
    allocations._timeline.steps = steps
    if changes:
        allocations._torch.cuda.stats = stats(**changes)
    records = list(allocations.records())
    return records[0]["value"] if records else None


def test_growth_is_counted_from_the_first_look_after_the_warm_up(allocations, cuda):
    assert look(allocations, 9) is None
    assert cuda.asked == 0
    assert look(allocations, 12, allocs=100, retries=2) is None
    assert look(allocations, 30, allocs=104, retries=2)["device_allocs"] == 4
    found = look(allocations, 50, allocs=104, retries=5, frees=9)
    assert found == {
        "steps": 38,
        "looks": 2,
        "growing": 1,
        "retries": 3,
        "device_allocs": 4,
        "device_frees": 9,
        "reserved_bytes": 8_000_000_000,
        "allocated_bytes": 5_000_000_000,
        "inactive_bytes": 77,
    }


def test_nothing_is_asked_between_two_steps(allocations, cuda):
    look(allocations, 20)
    look(allocations, 20)
    assert cuda.asked == 1


def test_counters_that_a_script_resets_go_on(allocations):
    look(allocations, 20, allocs=100)
    look(allocations, 30, allocs=105)
    assert look(allocations, 40, allocs=2)["device_allocs"] == 7


def test_a_torch_without_some_counters_says_nothing_of_them(allocations, cuda):
    cuda.stats = {"num_alloc_retries": 1, "reserved_bytes": {}}
    look(allocations, 20)
    cuda.stats = {"num_alloc_retries": 4}
    assert look(allocations, 30) == {"steps": 10, "looks": 1, "growing": 0, "retries": 3}


@pytest.mark.parametrize("changes", [{"opened": False}, {"backend": "cudaMallocAsync"}, {"stats": {}}])
def test_where_nothing_can_be_measured_nothing_is_written(allocations, cuda, changes):
    for name, value in changes.items():
        setattr(cuda, name, value)
    assert look(allocations, 20) is None
    assert look(allocations, 30) is None


def test_a_simulated_device_is_not_asked(simulated, cuda):
    allocations = Allocations(simulated, SimpleNamespace(cuda=cuda))
    assert look(allocations, 20) is look(allocations, 30) is None
    assert cuda.asked == 0


def test_a_forked_child_begins_anew(allocations):
    look(allocations, 20)
    allocations.restart()
    assert look(allocations, 30, allocs=500) is None


@pytest.mark.skipif("not __import__('importlib').util.find_spec('torch')")
def test_the_record_has_none_without_a_device(watched):
    import torch

    from torchperf_lint.runtime.probes import allocator

    kept = torch.cuda.empty_cache, torch.cuda.memory.empty_cache
    try:
        allocator.install(watched, torch)
        watched.timeline.steps = 20
        watched.recorder.flush()
        watched.timeline.steps = 40
        assert "allocations" not in watched.read().state or torch.cuda.is_initialized()
    finally:
        torch.cuda.empty_cache, torch.cuda.memory.empty_cache = kept


SETTLED = {"steps": 1000, "looks": 10, "growing": 1, "retries": 0, "device_allocs": 20, "device_frees": 0}
GROWING = {**SETTLED, "growing": 9, "device_allocs": 500, "reserved_bytes": 9 * 10**9, "allocated_bytes": 6 * 10**9}


def said(value, events=(), **state):
    run = Evidence(steps=1010, events=events, state={"allocations": value, **state})
    return list(AllocatorThrashVariableShapes().diagnose(run))


def test_retries_are_said_with_their_number():
    (found,) = said({**GROWING, "retries": 7, "device_frees": 480})
    assert found.title == "the allocator ran out of memory and started over 7 times in 1000 steps"
    assert "blocks asked for 500, given back 480" in found.evidence
    assert "at most 9.00 GB reserved, 1.5 times the 6.00 GB" in found.evidence
    assert "how long was not measured" in found.evidence
    assert "expandable_segments:True" in found.advice
    assert found.share is None


def test_memory_that_goes_on_growing_is_said():
    (found,) = said(GROWING)
    assert found.title == "the allocator asks the driver for memory 0.5 times a step"
    assert found.evidence.startswith("still so in 9 of 10 looks")


def test_expandable_segments_are_not_advised_where_they_are_on():
    (found,) = said(GROWING, environment={"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"})
    assert "try PYTORCH" not in found.advice
    assert "on already" in found.advice


@pytest.mark.parametrize(
    "value",
    [
        None,
        {},
        SETTLED,
        {**SETTLED, "steps": 0, "retries": 5},
        {**GROWING, "looks": 2, "growing": 2},
        {**GROWING, "device_allocs": 50},
        {**GROWING, "growing": 4},
        {"steps": 1000, "looks": 10, "growing": 0},
        "damaged",
    ],
)
def test_where_it_is_silent(value):
    assert said(value) == []


def test_an_emptied_cache_explains_the_growth_but_not_the_retries():
    emptied = (Event("empty-cache", "cuda", "train.py", 9, 1010, steady=1000),)
    assert said(GROWING, emptied) == []
    assert len(said({**GROWING, "retries": 1}, emptied)) == 1
    assert "started over once in" in said({**GROWING, "retries": 1}, emptied)[0].title
