"""Loops that cut their inputs into batches and hand each to what runs a model without gradients."""

from __future__ import annotations

import pytest
from snippets import hot_at

EMBEDS = """
    class Encoder:
        def __init__(self):
            self.model = build()

        def embed(self, texts):
            with {off}:
                out = self.{run}(texts)
            return out.sum()  # <-

    def embed_all(encoder: Encoder, texts, size, step, keep):
        i = 0
        {head}
            vectors = encoder.embed({cut})
            keep(vectors)
            {count}
"""
GIVEN = {
    "off": "torch.no_grad()",
    "run": "model",
    "head": "while i < len(texts):",
    "cut": "texts[i : i + size]",
    "count": "i += size",
}


def embeds(**changed):
    return hot_at(EMBEDS.format(**{**GIVEN, **changed}))


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"off": "torch.inference_mode()"},
        {"cut": "[t.lower() for t in texts[i : i + size]]"},
        {"count": "if keep:\n                i += size"},
        {"head": "for i in range(0, len(texts), size):", "count": "pass"},
    ],
)
def test_each_batch_is_computed(changed):
    found = embeds(**changed)
    assert found is not None
    assert found.kind == "eval"
    assert found.when.startswith("every batch")


@pytest.mark.parametrize(
    "changed",
    [
        {"off": "torch.enable_grad()"},
        {"run": "read"},
        {"count": "i += step"},
        {"count": "i = keep(i)"},
        {"cut": "texts[:size]"},
        {"head": "while keep(i):"},
        {"head": "for i in range(3):", "count": "pass"},
    ],
)
def test_other_loops_are_not_told(changed):
    assert embeds(**changed) is None
