"""What a step computes with, read from the graph of its backward pass; nothing of it is run or unpacked."""

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

from torchperf_lint.runtime.probes import precision, steps  # noqa: E402


def network():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Conv2d(8, 8, 3, groups=8), nn.Flatten(), nn.Linear(8 * 16, 4)
    )


def graph(loss):
    return precision.graph_of((loss,), torch.channels_last)


def test_dtypes_are_those_that_autocast_made():
    images = torch.randn(2, 3, 8, 8)
    model = network()
    plain = graph(model(images).sum())
    assert plain["convolutions"] == {"float32": 2}
    assert plain["matmuls"] == {"float32": 1}
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(images).float().sum()
    cast = graph(loss)
    assert cast["convolutions"] == {"bfloat16": 2}
    assert cast["matmuls"] == {"bfloat16": 1}
    loss.backward()


def test_the_layout_is_that_of_the_parameters_where_the_shape_tells():
    images = torch.randn(2, 3, 8, 8)
    model = network()
    assert [graph(model(images).sum())[name] for name in ("planar", "channels_last", "depthwise")] == [1, 0, 1]
    model = model.to(memory_format=torch.channels_last)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(images).sum()
    assert [graph(loss)[name] for name in ("planar", "channels_last", "depthwise")] == [1, 1, 1]


def test_one_by_one_kernels_tell_no_layout():
    model = nn.Conv2d(3, 8, 1).to(memory_format=torch.channels_last)
    assert graph(model(torch.randn(2, 3, 8, 8)).sum())["planar"] == 0


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoints_are_not_recomputed(reentrant):
    calls = []

    def part(x):
        calls.append(1)
        return x @ x.T

    x = torch.randn(4, 4, requires_grad=True)
    loss = checkpoint(part, x, use_reentrant=reentrant).sum()
    found = graph(loss)
    assert len(calls) == 1
    assert found["hidden"] == reentrant
    loss.backward()
    assert len(calls) == 2


def test_a_long_graph_is_cut(monkeypatch):
    monkeypatch.setattr(precision, "_MOST_NODES", 10)
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(20):
        y = y * 2
    assert graph(y)["cut"] is True
    assert graph(y)["nodes"] == 10
    assert graph(x * 2)["cut"] is False


def test_a_graph_that_meets_itself_is_walked_once():
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(60):
        y = y + y
    assert graph(y)["nodes"] == 61


def test_a_torch_that_tells_no_dtype_is_not_guessed_for():
    class Node:
        next_functions = ()

        def name(self):
            return "MmBackward0"

    class Loss:
        grad_fn = Node()

    assert graph(Loss())["matmuls"] == {}


@pytest.fixture
def installed(watched, monkeypatch):
    monkeypatch.setattr(torch.autograd, "backward", torch.autograd.backward)
    assert precision.install(watched, torch) is None
    by_hand = steps.WithoutOptimizer(watched, torch, steps.NAME)
    by_hand.made()  # there is an optimizer, so it looks at no backward pass
    steps._watch_backward(watched, torch, by_hand)
    return watched


def test_one_backward_pass_after_the_warm_up_is_looked_at(installed):
    x = torch.randn(4, 4, requires_grad=True)
    (x @ x).sum().backward()
    assert "graph" not in installed.read().state
    installed.timeline.steps = 10
    (x @ x).sum().backward()
    assert installed.read().state["graph"]["matmuls"] == {"float32": 1}
    assert installed.on_backward == []
    torch.autograd.backward(tensors=[x.sum()])
    assert installed.read().state["graph"]["matmuls"] == {"float32": 1}


def test_a_mode_of_the_script_hears_nothing_of_it(installed):
    heard = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            heard.append(function)
            return function(*args, **(kwargs or {}))

    images = torch.randn(2, 3, 8, 8)
    loss = network()(images).sum()
    other = network()(images).sum()
    with Mode():
        loss.backward()
        before = list(heard)
        heard.clear()
        installed.timeline.steps = 10
        other.backward()
    assert installed.read().state["graph"]["planar"] == 1
    assert heard == before


def test_a_simulated_device_is_not_looked_at(simulated):
    assert precision.install(simulated, torch) is None
    assert simulated.on_backward == []


def test_a_forked_child_looks_again(installed):
    installed.timeline.steps = 10
    torch.ones(1, requires_grad=True).sum().backward()
    for restart in installed.restarts:
        restart()
    assert len(installed.on_backward) == 1


def test_a_failure_of_ours_is_noted_and_goes_no_further(installed, monkeypatch):
    monkeypatch.setattr(precision, "graph_of", lambda *args: 1 / 0)
    installed.timeline.steps = 10
    x = torch.ones(1, requires_grad=True)
    x.sum().backward()
    assert x.grad.item() == 1
    assert installed.probe_state("precision") == "failed"
