"""Tensors of DGL's graphs: features, `graph.ndata["h"]`, and the sizes of the graphs in a batch lie where that does."""

from __future__ import annotations

import ast

from torchperf_lint.facts.outlines.records import Outline
from torchperf_lint.facts.values.value import ANYWHERE, Value, tensor
from torchperf_lint.model import Confidence

_STORES = frozenset({"ndata", "edata", "srcdata", "dstdata"})
_COUNTS = frozenset({"batch_num_nodes", "batch_num_edges"})


def graph_data(outline: Outline, node: ast.Subscript | ast.Call, of: Value) -> Value | None:
    """What an entry of a graph's data is, or a call that gives a number for each graph of a batch; else None.

    `of`: what it is an entry or a method of, which no class of the project makes.
    """
    if of.kind != "unknown" and (of.kind != "object" or of.thing is None or of.thing.kind != "external"):
        return None
    owner = node.value if isinstance(node, ast.Subscript) else node.func
    names = _STORES if isinstance(node, ast.Subscript) else _COUNTS
    if not isinstance(owner, ast.Attribute) or owner.attr not in names:
        return None
    if isinstance(node, ast.Subscript) and not outline.imports_from("dgl"):
        return None  # `ndata` may be a number of others
    because = f"`{ast.unparse(owner)}` of a graph of DGL gives a tensor (line {node.lineno})"
    return tensor(ANYWHERE, because, Confidence.LIKELY)
