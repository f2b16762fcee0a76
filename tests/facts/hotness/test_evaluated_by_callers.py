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
