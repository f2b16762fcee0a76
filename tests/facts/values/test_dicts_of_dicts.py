"""Dicts that hold dicts, whatever the function that hands them back is annotated to return."""

from __future__ import annotations

import pytest
from snippets import value_of

CODE = """
def step(model: nn.Module, x) -> {promised}:
    loss = model(x.cuda())
    metrics = {{"loss": loss.detach()}}
    return {given}


def told(model: nn.Module, x):
    status = step(model, x)
    y = status["metrics"]
    return y
"""


@pytest.mark.parametrize(
    ("promised", "given", "kind"),
    [
        ("dict[str, float]", '{"metrics": metrics, "n": 1.0}', "sequence"),
        ("dict[str, float]", '{"metrics": {"loss": loss}}', "sequence"),
        ("dict[str, float]", '{"metrics": loss}', "plain"),
        ("dict[str, float]", "metrics", "plain"),
        ("float", '{"metrics": metrics}', "plain"),
    ],
)
def test_what_is_written_down_says_more_than_an_annotation(promised, given, kind):
    assert value_of(CODE.format(promised=promised, given=given), "y").kind == kind
