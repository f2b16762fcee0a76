"""What goes by the name of Lightning's Fabric."""

from __future__ import annotations

import ast

import pytest

from torchperf_lint.facts.roles.fabrics import is_fabric


@pytest.mark.parametrize(
    ("written", "expected"),
    [("fabric", True), ("self.fabric", True), ("self._fabric", True), ("fabrics", False), ("fabric.device", False)],
)
def test_what_is_a_fabric_by_its_name(written, expected):
    assert is_fabric(ast.parse(written, mode="eval").body) is expected
