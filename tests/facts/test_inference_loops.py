"""Loops over slices of a list of inputs, which run a model on each batch."""

from __future__ import annotations

import pytest
from snippets import hot_at

LOOP = """
    def predict(model, items, size):
        out = []
        for i in range({bounds}):
            batch = collate(items[i : i + size]).cuda()
            {run}
            out.append(scores.item())  # <-
        return out
"""


@pytest.mark.parametrize(
    ("bounds", "run", "hot"),
    [
        ("0, len(items), size", "scores = model(batch)", True),
        ("0, len(items), 64", "scores = model(batch, training=False)", True),
        ("0, len(items), size", "scores = batch.mean()", False),
        ("len(items)", "scores = model(batch)", False),
    ],
)
def test_who_cuts_inputs_into_batches_runs_a_model_on_them(bounds, run, hot):
    """Gradients may be on: `model` trains on none of them."""
    found = hot_at(LOOP.format(bounds=bounds, run=run))
    assert (found is not None) == hot
    assert found is None or found.kind == "eval"


CHUNKS = """
    def score(model, rows, size):
        out = []
        for i in range(0, len(rows), size):
            part = rows[i : i + size]{moved}
            scores = model(part)
            out.append(scores.item())  # <-
        return out
"""


@pytest.mark.parametrize(("moved", "hot"), [(".to(device)", True), (".cuda()", True), ("", False)])
def test_chunks_that_nothing_moves_may_be_of_a_pass_of_training(moved, hot):
    assert (hot_at(CHUNKS.format(moved=moved)) is not None) == hot
