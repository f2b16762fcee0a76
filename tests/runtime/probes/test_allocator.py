"""`torch.cuda.empty_cache()` is seen where it is called, whether there is a device or not."""

import pytest

torch = pytest.importorskip("torch")

from torchperf_lint.runtime.probes import allocator  # noqa: E402


@pytest.fixture(autouse=True)
def unpatched(monkeypatch):
    """Each module's function is put back afterwards."""
    for module in (torch.cuda, torch.cuda.memory, *allocator._accelerator(torch)):
        monkeypatch.setattr(module, "empty_cache", module.empty_cache)


def test_a_call_is_counted_at_its_line_without_a_time_where_no_device_is(watched):
    assert allocator.install(watched, torch) is None
    for _ in range(3):
        torch.cuda.empty_cache()
    (event,) = watched.found("empty-cache")
    assert (event["what"], event["n"], event["ms"]) == ("cuda", 3, None)
    assert event["function"] == "test_a_call_is_counted_at_its_line_without_a_time_where_no_device_is"


def test_every_name_of_it_is_one_call(watched, monkeypatch):
    monkeypatch.setattr(torch._C, "_accelerator_isAllocatorInitialized", lambda: False, raising=False)
    allocator.install(watched, torch)
    torch.cuda.memory.empty_cache()
    assert watched.counted("empty-cache") == {"cuda": 1}
    if hasattr(torch.accelerator, "empty_cache"):
        torch.accelerator.empty_cache()
        torch.accelerator.memory.empty_cache()
        assert watched.counted("empty-cache") == {"cuda": 1, "accelerator": 2}


def test_its_time_is_kept_where_a_device_is_open(watched, monkeypatch):
    allocator.install(watched, torch)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch._C, "_cuda_emptyCache", lambda: None, raising=False)
    torch.cuda.empty_cache()
    (event,) = watched.found("empty-cache")
    assert event["ms"] >= 0


def test_the_simulated_devices_own_is_called_and_has_no_time(simulated, monkeypatch):
    called = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: called.append(1))
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    allocator.install(simulated, torch)
    torch.cuda.empty_cache()
    assert called == [1]
    assert [event["ms"] for event in simulated.found("empty-cache")] == [None]


def test_a_failure_of_ours_is_noted_and_goes_no_further(watched, monkeypatch):
    allocator.install(watched, torch)
    monkeypatch.setattr(watched.recorder, "event", lambda *args, **kwargs: 1 / 0)
    assert torch.cuda.empty_cache() is None
    assert watched.probe_state("allocator") == "failed"
