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


HANDED_IN = """
    def effects({given}, x, device, size):
        out = []
        for i in {head}:
            part = x[i : i + size]{moved}
            out.append({call})
            out[-1].sum()  # <-
        return out
"""
BY_BATCHES = "range(0, len(x), size)"


def handed_in(given="network", head=BY_BATCHES, moved=".to(device)", call="network(part)"):
    return hot_at(HANDED_IN.format(given=given, head=head, moved=moved, call=call))


@pytest.mark.parametrize("changed", [{}, {"given": "network: Callable"}, {"moved": ".float().to(device)"}])
def test_each_batch_that_is_moved_goes_to_a_function_that_was_handed_in(changed):
    found = handed_in(**changed)
    assert found is not None
    assert found.when.startswith("every batch")


@pytest.mark.parametrize(
    "changed",
    [
        {"head": "range(9)"},
        {"moved": ""},
        {"given": "network: dict"},
        {"given": "on_progress", "call": "on_progress(part)"},
        {"call": "torch.autograd.grad(network(part), part)"},
    ],
)
def test_functions_that_are_handed_something_else(changed):
    assert handed_in(**changed) is None


OF_A_MODULE = """
    class Codes(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Parameter(torch.zeros(8, 8))

        def encode(self, x):
            return F.relu(x @ self.table)

        def describe(self, x):
            return len(x)

    @torch.no_grad()
    def all_codes(codes: Codes, x, device, size):
        for i in range(0, len(x), size):
            z = codes.{method}(x[i : i + size].to(device))
            z.sum()  # <-
"""


def test_a_part_of_a_pass_of_a_known_module_runs_it():
    found = hot_at(OF_A_MODULE.format(method="encode"))
    assert found is not None
    assert found.when.startswith("every batch")
    assert hot_at(OF_A_MODULE.format(method="describe")) is None
