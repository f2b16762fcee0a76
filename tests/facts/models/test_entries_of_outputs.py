"""Entries of what a model gives that nothing else in a function can see."""

from __future__ import annotations

import ast

import pytest

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.models.entries_of_outputs import is_own_entry

STEP = """
import torch
from torch import nn

def step(model: nn.Module, batch, rank):
    out = {made}
    out["loss"].backward()
    {beside}
    top = {value}
    torch.distributed.all_reduce(top)
"""


def own(made: str = "model(batch)", beside: str = "pass", value: str = 'out["top"].to(rank)') -> bool:
    text = STEP.format(made=made, beside=beside, value=value)
    file = SourceFile(Project.of_texts({"a.py": text}), "a.py", text)
    body = file.project.body("a.py")
    site = next(site for site in file.calls_among(file.outline.calls) if site.record.callee.endswith("all_reduce"))
    bound = body.assigned_once(site.function, "top", site.start)
    assert isinstance(bound, ast.expr)
    return is_own_entry(site, body, bound)


@pytest.mark.parametrize("value", ['out["top"].to(rank)', 'out["top"]', 'out["tops"][0].detach()'])
def test_an_entry_that_is_read_once(value):
    assert own(value=value)


@pytest.mark.parametrize(
    ("made", "beside"),
    [
        ("model(batch)", 'loss = out["top"] * 2'),
        ("model(batch)", "keep(out)"),
        ("load(batch)", "pass"),
    ],
)
def test_an_entry_that_somebody_else_may_read(made, beside):
    assert not own(made, beside)
