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
