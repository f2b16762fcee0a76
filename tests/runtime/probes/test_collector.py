"""Full collections are seen where they are asked for; backward passes that keep their graph as well."""

import gc

import pytest

torch = pytest.importorskip("torch")

from torchperf_lint.runtime.probes import collector, steps  # noqa: E402


@pytest.fixture
def collecting(watched, monkeypatch):
    monkeypatch.setattr(gc, "collect", gc.collect)
    assert collector.install(watched, torch) is None
    return watched


def test_a_full_collection_is_counted_with_its_time(collecting):
    found = gc.collect()
    gc.collect(generation=2)
    assert isinstance(found, int)
    assert collecting.counted("collect") == {"all": 2}
    assert all(event["ms"] > 0 for event in collecting.found("collect"))


def test_young_generations_are_cheap(collecting):
    gc.collect(0)
    gc.collect(1)
    assert collecting.counted("collect") == {}


def test_a_wrong_generation_raises_as_before(collecting):
    with pytest.raises(ValueError, match="generation"):
        gc.collect(7)
    assert collecting.counted("collect") == {}


@pytest.mark.parametrize(("keep", "seen"), [(True, {"backward": 1}), (False, {}), (None, {})])
def test_a_backward_pass_that_keeps_its_graph(watched, monkeypatch, keep, seen):
    monkeypatch.setattr(torch.autograd, "backward", torch.autograd.backward)
    steps._watch_backward(watched, torch, steps.WithoutOptimizer(watched, torch, steps.NAME))
    torch.ones(2, requires_grad=True).sum().backward(retain_graph=keep)
    assert watched.counted("kept-graph") == seen
    torch.autograd.backward(torch.ones(2, requires_grad=True).sum(), retain_graph=keep)
    assert watched.counted("kept-graph") == {what: 2 * n for what, n in seen.items()}
