"""Where tensors are that were looked up by an index which the host has."""

from __future__ import annotations

import ast

import pytest
from snippets import IMPORTS

from torchperf_lint.facts.devices.devices import device_of
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.values.value import DEVICE, HOST, Frame

CODE = """
class Sampler:
    def ratio(self, t, table):
        var = {found}
        var = var.clamp(0, 1)
        return self.low.to(var.device)

    def sample(self, latents, steps, table):
        for t in steps:
            latents = latents * self.ratio({given}, table)
        return latents
"""


@pytest.mark.parametrize(
    ("found", "given", "where"),
    [
        ("table[t]", "t.cpu()", HOST),
        ("table[t]", "t.long().cpu()", HOST),
        ("self.table[t]", "t.cpu().long()", HOST),
        ("table[t.cpu()]", "t", HOST),
        ("table[t]", "t", DEVICE),
        ("table[torch.randperm(4)]", "t", DEVICE),
        ("table[t]", "torch.randperm(4)", DEVICE),
        ("table[:4]", "t.cpu()", DEVICE),
        ("torch.zeros(9, device='cuda')[t]", "t.cpu()", DEVICE),
    ],
)
def test_device_of_what_was_looked_up(found, given, where):
    text = IMPORTS + CODE.format(found=found, given=given)
    project = Project.of_texts({"a.py": text})
    index = next(i for i, r in enumerate(project.index.outlines["a.py"].functions) if r.name == "ratio")
    asked = next(
        n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Attribute) and ast.unparse(n) == "var.device"
    )
    place = project.body("a.py").at(asked)
    assert device_of(project.values, asked, Frame("a.py", index, place)) == where
