"""Autograd functions for an exported graph only: `forward` makes up an answer, `symbolic` names the operator.

    class NonMaxSuppression(torch.autograd.Function):
        @staticmethod
        def forward(ctx, boxes, scores):
            return torch.randint(0, 100, (100, 3))

        @staticmethod
        def symbolic(g, boxes, scores):
            return g.op("NonMaxSuppression", boxes, scores)

The exporter runs such a `forward` once, for the shapes; nobody can train or infer with what it draws.
"""

from __future__ import annotations

from torchperf_lint.facts.call_graph.index import Index, Thing
from torchperf_lint.patterns import pattern

_DRAWS = pattern(r"^(?:torch|random|np\.random|numpy\.random)\.rand\w*$")


def stands_in_for_an_operator(index: Index, cls: Thing) -> bool:
    """Whether an autograd function names an operator, has no gradient, and draws at random what `forward` gives."""
    methods = index.record(cls).methods
    if "symbolic" not in methods or "backward" in methods or "forward" not in methods:
        return False
    calls = (call for call in index.outlines[cls.path].calls if call.function == methods["forward"])
    return any(_DRAWS.search(call.callee) for call in calls)
