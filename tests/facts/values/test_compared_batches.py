"""Two batches that are compared, of which neither says what the other is."""

from __future__ import annotations

from snippets import value_of

CODE = """
def count(dataset, other, model):
    for one, two in zip(DataLoader(dataset), DataLoader(other)):
        model(one == two)
"""


def test_two_batches_can_be_compared():
    assert value_of(CODE, "one == two").kind in ("tensor", "batch", "unknown", "plain")
