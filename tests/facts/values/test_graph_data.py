"""Tensors of the graphs of DGL."""

from __future__ import annotations

import pytest
from snippets import value_of

CODE = """
import {library}

def f(graph, h):
    batch = {library}.batch([graph])
    parts = {library}.unbatch(batch)
    return {expression}
"""


@pytest.mark.parametrize(
    "expression", ["graph.ndata['h']", "parts[0].edata[h]", "graph.batch_num_nodes()", "batch.ndata['h']"]
)
def test_the_data_of_a_graph_are_tensors(expression):
    assert value_of(CODE.format(library="dgl", expression=expression), expression).kind == "tensor"
    counted = "batch_num_nodes" in expression
    assert (value_of(CODE.format(library="graphs", expression=expression), expression).kind == "tensor") is counted


@pytest.mark.parametrize("expression", ["batch", "parts", "parts[0]", "batch.edges()"])
def test_a_graph_is_no_array(expression):
    assert value_of(CODE.format(library="dgl", expression=expression), expression).kind != "array"
