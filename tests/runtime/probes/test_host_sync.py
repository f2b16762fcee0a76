"""The callbacks of torch before each wait, fired by hand: no device is needed to count and to time them."""

import _thread
import operator
import signal
import sys
import threading
import time
import types

import pytest

torch = pytest.importorskip("torch")
from torch.cuda import _gpu_trace  # noqa: E402

from torchperf_lint.runtime.probes import _callbacks, _cuda, _kineto, host_sync  # noqa: E402

TORCH_DIRECTORY = torch.__path__[0]


@pytest.fixture
def registries():
    """torch's registries, as they were again afterwards."""
    every = [value for value in vars(_gpu_trace).values() if hasattr(value, "callback_list")]
    before = [dict(vars(registry)) | {"callback_list": list(registry.callback_list)} for registry in every]
    yield _gpu_trace
    for registry, state in zip(every, before, strict=True):
        vars(registry).clear()
        vars(registry).update(state)


@pytest.fixture
def syncs(watched, registries):
    counting = host_sync.Syncs(watched, TORCH_DIRECTORY)
    _callbacks.Trace(registries, "", lambda: None).watch(counting.about_to_wait)
    return counting


def binding(*parts, seconds):
    """Calls each part with `seconds` as one C call does: no Python code runs between them or after the last."""
    any(map(operator.methodcaller("__call__", seconds), parts))


def fire(what):
    return getattr(_gpu_trace, f"{what}SynchronizationCallbacks").fire_callbacks


def as_code_of(filename, name, registry):
    """A function that looks as if it stood in a file of torch, and waits."""
    source = f"def {name}():\n    fire(0)\n"
    scope = {"fire": registry.fire_callbacks}
    exec(compile(source, f"{TORCH_DIRECTORY}/{filename}", "exec"), scope)
    return scope[name]


@pytest.mark.parametrize("what", ["Stream", "Event"])
def test_a_wait_is_timed_until_the_interpreter_goes_on(watched, syncs, what):
    binding(fire(what), time.sleep, seconds=0.05)
    time.sleep(0.2)
    (event,) = watched.found("sync")
    assert (event["what"], event["n"]) == (what.lower(), 1)
    assert event["function"] == "binding"
    assert 50 <= event["ms"] < 150


def test_a_wait_for_the_device_is_counted(watched, syncs):
    _gpu_trace.DeviceSynchronizationCallbacks.fire_callbacks()
    assert watched.counted("sync") == {"device": 1}


def test_two_waits_of_one_call_share_its_time(watched, syncs):
    binding(fire("Stream"), time.sleep, fire("Event"), time.sleep, seconds=0.05)
    first, second = watched.found("sync")
    assert (first["n"], second["n"]) == (1, 1)
    assert 50 <= first["ms"] < 150
    assert 50 <= second["ms"] < 150


def test_the_timeline_is_told_once_per_wait(watched, syncs, monkeypatch):
    told = []
    monkeypatch.setattr(watched.timeline, "waited", told.append)
    for _ in range(3):
        binding(fire("Stream"), time.sleep, seconds=0.01)
    assert len(told) == 3
    assert all(ms >= 10 for ms in told)
    assert syncs.waits.told == 3


def test_a_thread_of_the_script_is_counted_without_a_time(watched, syncs):
    thread = threading.Thread(target=lambda: binding(fire("Stream"), time.sleep, seconds=0.01))
    thread.start()
    thread.join()
    (event,) = watched.found("sync")
    assert (event["n"], event["ms"]) == (1, None)
    assert event["function"].endswith("binding")


def test_a_thread_without_python_is_put_where_the_main_thread_stands(watched, syncs):
    _thread.start_new_thread(fire("Stream"), (0,))
    for _ in range(500):
        if watched.found("sync"):
            break
        time.sleep(0.01)
    (event,) = watched.found("sync")
    assert (event["n"], event["ms"]) == (1, None)
    assert event["path"].endswith(("probes/test_host_sync.py", "probes/recording.py"))


def test_what_waits_in_the_engine_has_no_time(watched, syncs, registries):
    engine = as_code_of("autograd/graph.py", "_engine_run_backward", registries.StreamSynchronizationCallbacks)
    hook = as_code_of("autograd/graph.py", "pack_hook", registries.EventSynchronizationCallbacks)
    engine()
    hook()
    times = {event["what"]: event["ms"] for event in watched.found("sync")}
    assert times["stream"] is None
    assert times["event"] >= 0


def test_waits_of_a_search_for_nan_are_called_so(watched, registries):
    searching = [True]
    counting = host_sync.Syncs(watched, TORCH_DIRECTORY, lambda: searching[-1])
    _callbacks.Trace(registries, "", lambda: None).watch(counting.about_to_wait)
    wait = registries.StreamSynchronizationCallbacks
    engine = as_code_of("autograd/graph.py", "_engine_run_backward", wait)
    engine()
    wait.fire_callbacks(0)
    searching.append(False)
    engine()
    assert watched.counted("sync") == {"anomaly-mode": 1, "stream": 2}


@pytest.mark.parametrize(
    ("filename", "expected"),
    [("autograd/profiler.py", {}), ("profiler/profiler.py", {}), ("cuda/__init__.py", {"stream": 1})],
)
def test_waits_of_torchs_profilers_are_left_out(watched, syncs, registries, filename, expected):
    as_code_of(filename, "synchronize", registries.StreamSynchronizationCallbacks)()
    assert watched.counted("sync") == expected


def test_our_windows_own_wait_is_left_out_and_that_of_other_probes_is_not(watched, syncs, registries):
    wait = registries.DeviceSynchronizationCallbacks
    for module in (_kineto, _callbacks):
        scope = {"fire": wait.fire_callbacks}
        exec(compile("def wait():\n    fire(0)\n", module.__file__, "exec"), scope)
        scope["wait"]()
    assert watched.counted("sync") == {"device": 1}


def test_a_window_that_is_open_gets_a_mark_with_the_waits_site(watched, syncs, registries):
    marks = []
    registries.StreamSynchronizationCallbacks.fire_callbacks(0)
    watched.mark = marks.append
    registries.StreamSynchronizationCallbacks.fire_callbacks(0)
    site = {event["line"]: event["site"] for event in watched.found("sync")}
    assert marks == [f"sync:{site[max(site)]}:stream"]


def test_allocations_cost_no_python_call(syncs, registries):
    assert isinstance(registries.MemoryAllocationCallbacks.fire_callbacks, types.BuiltinFunctionType)
    assert registries.MemoryAllocationCallbacks.fire_callbacks(4096) is not None
    assert isinstance(registries.EventRecordCallbacks.fire_callbacks, types.BuiltinFunctionType)
    assert registries.EventRecordCallbacks.fire_callbacks(1, 2) is False


def test_whoever_asks_for_callbacks_gets_them(watched, registries):
    early, late, waits = [], [], []
    registries.register_callback_for_event_record(lambda event, stream: early.append((event, stream)))
    registries.register_callback_for_stream_synchronization(waits.append)
    counting = host_sync.Syncs(watched, TORCH_DIRECTORY)
    _callbacks.Trace(registries, "", lambda: None).watch(counting.about_to_wait)
    registries.register_callback_for_memory_allocation(late.append)
    registries.EventRecordCallbacks.fire_callbacks(1, 2)
    registries.MemoryAllocationCallbacks.fire_callbacks(4096)
    registries.StreamSynchronizationCallbacks.fire_callbacks(7)
    assert (early, late, waits) == ([(1, 2)], [4096], [7])
    assert watched.counted("sync") == {"stream": 1}


def test_a_failure_of_ours_is_noted_and_goes_no_further(watched, syncs, monkeypatch):
    def broken(*args, **kwargs):
        raise ZeroDivisionError("injected")

    monkeypatch.setattr(watched.sites, "key", broken)
    answers = [fire("Stream")(0) for _ in range(20)]
    assert answers == [None] * 20
    assert watched.read().probes["host-sync"]["state"] == "failed"
    assert "injected" in watched.read().probes["host-sync"]["reason"]


def test_a_failure_after_the_wait_is_noted_and_goes_no_further(watched, syncs, monkeypatch):
    def broken(ms):
        raise ZeroDivisionError("injected")

    monkeypatch.setattr(watched.timeline, "waited", broken)
    binding(fire("Stream"), time.sleep, seconds=0.001)
    assert watched.probe_state("host-sync") == "failed"
    assert watched.counted("sync") == {"stream": 1}


def alarmed(number, frame):
    raise TimeoutError("too", "slow")


@pytest.mark.parametrize(
    ("number", "handler", "expected", "arguments"),
    [
        (signal.SIGINT, signal.default_int_handler, KeyboardInterrupt, ()),
        (signal.SIGUSR1, alarmed, TimeoutError, ("too", "slow")),
        (signal.SIGUSR1, lambda number, frame: sys.exit(7), SystemExit, (7,)),
    ],
    ids=["Ctrl-C", "alarm", "exit"],
)
def test_a_signal_that_comes_while_we_look_reaches_the_script(
    watched, syncs, monkeypatch, number, handler, expected, arguments
):
    monkeypatch.setattr(watched.sites, "key", lambda *args: signal.raise_signal(number))
    before = signal.signal(number, handler)
    went_on = []
    try:
        with pytest.raises(expected) as raised:
            binding(fire("Stream"), went_on.append, seconds=0.0)
            time.sleep(0)
            pytest.fail("the script went on")
    finally:
        signal.signal(number, before)
    assert went_on == [0.0]
    assert raised.value.args == arguments
    assert "host-sync" not in watched.read().probes


def test_nothing_is_timed_while_the_interpreter_ends(watched, syncs):
    syncs.stop_timing()
    binding(fire("Stream"), time.sleep, seconds=0.01)
    assert [(event["n"], event["ms"]) for event in watched.found("sync")] == [(1, None)]


def test_a_muted_process_records_nothing(watched, syncs):
    watched.recorder.muted = True
    fire("Stream")(0)
    watched.recorder.muted = False
    assert watched.found("sync") == []


class BuiltWithCuda:
    """A torch that could drive a device, and opens it when it is told to."""

    __file__ = torch.__file__
    __version__ = "2.99.0"

    def __init__(self):
        self.activated = 0
        self.queued = []
        self._C = types.SimpleNamespace(_cuda_getDeviceCount=None, _activate_gpu_trace=self.activate)
        self.cuda = types.SimpleNamespace(_lazy_call=self.queued.append)

    def activate(self):
        self.activated += 1

    def open_device(self):
        for call in self.queued:
            call()


def test_nothing_is_watched_before_the_script_opens_a_device(watched, registries):
    ours = BuiltWithCuda()
    assert host_sync.install(watched, ours) == _cuda.NOT_OPENED
    fire("Stream")(0)
    assert (ours.activated, watched.counted("sync")) == (0, {})
    ours.open_device()
    fire("Stream")(0)
    assert (ours.activated, watched.counted("sync")) == (1, {"stream": 1})
    assert watched.probe_state("host-sync") == "watching"


def test_a_device_that_is_open_already_is_watched_at_once(watched, registries):
    ours = BuiltWithCuda()
    ours.cuda._lazy_call = lambda call: call()
    assert host_sync.install(watched, ours) is None
    assert ours.activated == 1


def test_what_fails_while_the_device_opens_stays_with_us(watched, registries):
    ours = BuiltWithCuda()
    ours._C._activate_gpu_trace = lambda: 1 / 0
    host_sync.install(watched, ours)
    ours.open_device()
    assert watched.probe_state("host-sync") == "failed"


def test_a_torch_without_callbacks_says_so(watched, monkeypatch):
    ours = BuiltWithCuda()
    del ours._C._activate_gpu_trace
    assert "torch 2.99.0 has no callbacks" in host_sync.install(watched, ours)


def test_a_build_without_cuda_says_so(watched):
    if _cuda.is_built(torch):
        pytest.skip("this torch is built with CUDA")
    assert host_sync.install(watched, torch) == _cuda.NO_CUDA


def test_the_simulated_device_reports_its_own_waits(simulated, registries):
    assert host_sync.install(simulated, torch) is None
    assert "fire_callbacks" not in vars(registries.StreamSynchronizationCallbacks)
