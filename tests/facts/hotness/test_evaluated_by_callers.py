"""Loops over anything that run a model which whoever calls the function has put into evaluation mode."""

from __future__ import annotations

import pytest
from snippets import hot_at, value_of

RANKS = """
    class Net(nn.Module):
        def forward(self, entities):
            return self.table(entities)

    def ranks(model, batcher):
        found = []
        for i, parts in enumerate(batcher):
            entities = parts["e1"]
            scores = {run}
            found.append(scores[0, entities[i, 0]])  # <-
        return found

    def main(batcher, resume):
        model = Net()
        model.cuda()
        if resume:
            {first}
            ranks(model, batcher)
        for epoch in range(9):
            model.train()
            for parts in batcher:
                model(parts["e1"]).sum().backward()
            {then}
            ranks({given}, batcher)
"""


def ranks(run="model.forward(entities)", first="model.eval()", then="model.eval()", given="model"):
    return RANKS.format(run=run, first=first, then=then, given=given)


@pytest.mark.parametrize("changed", [{}, {"run": "model(entities)"}, {"given": "model.cuda()"}])
def test_all_callers_have_set_the_mode(changed):
    found = hot_at(ranks(**changed))
    assert found is not None
    assert found.kind == "eval"
    assert ".eval()` (line" in found.because


@pytest.mark.parametrize(
    "changed",
    [
        {"first": "pass"},
        {"then": "model.eval(); model.train()"},
        {"then": "other.eval()"},
        {"given": "Net()"},
        {"run": "model.table(entities)"},
        {"run": "torch.autograd.grad(model(entities), entities)"},
        {"run": "model(entities); save_image(scores, i)"},
    ],
)
def test_callers_that_may_train_and_loops_that_do_something_else(changed):
    assert hot_at(ranks(**changed)) is None


def test_what_a_module_is_given_and_indexed_like_a_tensor_is_one():
    assert value_of(ranks(), "entities").kind == "tensor"
    assert value_of(ranks().replace("[i, 0]", ""), "entities").kind == "unknown"
    assert value_of(ranks(run="run(entities)"), "entities").kind == "unknown"


BY_METHODS = """
    class Net(nn.Module):
        def forward(self, x):
            return x

    class Predictor:
        def __init__(self, clusters, device):
            self.model = Net()
            self.clusters = clusters
            self.device = device

        def predict(self, cluster):
            x = self.clusters.features[cluster].to(self.device)
            {run}
            self.keep(out)

        def keep(self, out):
            self.found = out.sum()  # <-

        def go_through(self):
            {own}
            for cluster in self.clusters.names:
                self.predict(cluster)

        def test(self, path):
            self.model.load_state_dict(torch.load(path))
            {mode}
            self.go_through()
"""


def by_methods(run="out = self.model(x)", own="pass", mode="self.model.eval()"):
    return hot_at(BY_METHODS.format(run=run, own=own, mode=mode))


@pytest.mark.parametrize("changed", [{}, {"own": "self.model.eval()", "mode": "pass"}])
def test_each_turn_calls_a_method_that_runs_the_model_of_its_object(changed):
    found = by_methods(**changed)
    assert found is not None
    assert found.kind == "eval"
    assert found.when.startswith("with every input")


@pytest.mark.parametrize(
    "changed",
    [
        {"mode": "pass"},
        {"mode": "self.model.eval(); self.model.train()"},
        {"own": "self.model.train()"},
        {"run": "out = self.clusters.look_up(x)"},
        {"run": "for part in x: out = self.model(part)"},
        {"run": "out = torch.autograd.grad(self.model(x), x)"},
    ],
)
def test_methods_that_run_no_model_in_evaluation_mode(changed):
    assert by_methods(**changed) is None
