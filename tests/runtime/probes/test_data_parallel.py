"""`nn.DataParallel` is judged where it is constructed, by the forward passes it ran and over how many devices."""

import copy
import inspect
import pickle

import pytest

torch = pytest.importorskip("torch")

from torchperf_lint.runtime.probes import data_parallel  # noqa: E402

HERE = "tests/runtime/probes/test_data_parallel.py"


@pytest.fixture
def watching(watched, monkeypatch):
    monkeypatch.setattr(torch.nn.DataParallel, "__init__", torch.nn.DataParallel.__init__)
    monkeypatch.setattr(torch.nn.DataParallel, "forward", torch.nn.DataParallel.forward)
    assert data_parallel.install(watched, torch) is None
    return watched


def construct(devices=()):
    parallel = torch.nn.DataParallel(torch.nn.Linear(2, 2))
    parallel.device_ids = list(devices)
    return parallel


def line_of(text):
    lines, first = inspect.getsourcelines(construct)
    return first + next(number for number, line in enumerate(lines) if text in line)


def test_construction_and_forward_passes_are_counted_where_it_is_constructed(watching):
    parallel = construct()
    for _ in range(3):
        parallel(torch.ones(1, 2))
    events = {event["what"]: event for event in watching.found("data-parallel")}
    assert {what: event["n"] for what, event in events.items()} == {"made": 1, "forward": 3}
    assert {event["line"] for event in events.values()} == {line_of("DataParallel(")}
    assert all(event["path"].endswith(HERE) for event in events.values())


def test_a_forward_pass_says_how_many_devices_it_has(watching, monkeypatch):
    monkeypatch.setattr(torch.nn.DataParallel, "scatter", lambda self, inputs, kwargs, ids: ([inputs], [kwargs]))
    monkeypatch.setattr(torch.nn.DataParallel, "replicate", lambda self, module, ids: [module])
    monkeypatch.setattr(torch.nn.DataParallel, "parallel_apply", lambda self, replicas, inputs, kwargs: [None])
    monkeypatch.setattr(torch.nn.DataParallel, "gather", lambda self, outputs, device: outputs[0])
    parallel = construct(devices=(0, 1))
    parallel.src_device_obj, parallel.output_device = torch.device("cpu"), 0
    parallel(torch.ones(1, 2))
    forward = next(event for event in watching.found("data-parallel") if event["what"] == "forward")
    assert forward["devices"] == 2


def test_a_copy_was_constructed_by_nobody_and_counts_where_it_is_called(watching):
    parallel = construct()
    twin, sent = copy.deepcopy(parallel), pickle.loads(pickle.dumps(parallel))
    twin(torch.ones(1, 2))
    sent(torch.ones(1, 2))
    forwards = [event for event in watching.found("data-parallel") if event["what"] == "forward"]
    assert sum(event["n"] for event in forwards) == 2
    assert line_of("DataParallel(") not in {event["line"] for event in forwards}


def test_a_failure_of_ours_is_noted_and_goes_no_further(watching, monkeypatch):
    monkeypatch.setattr(watching.recorder, "event", lambda *args, **kwargs: 1 / 0)
    assert construct()(torch.ones(1, 2)).shape == (1, 2)
    monkeypatch.undo()
    assert watching.probe_state("data-parallel") == "failed"
