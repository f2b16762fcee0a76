"""Fused attention beside one that is written out, and what is only left from where a class was copied."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.models.fused_beside import has_another_way
from torchperf_lint.facts.models.written_out_attention import written_out

LAYER = """\
import xformers.ops

class Layer(nn.Module):
    def __init__(self, fused=False):
        super().__init__()
        self._use_xformers = False  # no xformers over time

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor):
        {forward}

    def _attention(self, q, k, v):
        return (q @ k.mT).softmax(dim=-1) @ v

    def {name}(self, q, k, v):
        return xformers.ops.memory_efficient_attention(q, k, v)
"""
PLAIN = "return self._attention(q, k, v)"
CHOSEN = "return self._xformers_attention(q, k, v) if self._use_xformers else self._attention(q, k, v)"
HEIR = """\
from a import Layer

class Heir(Layer):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor):
        return self._xformers_attention(q, k, v)
"""


@pytest.mark.parametrize(
    ("forward", "name", "others", "expected"),
    [
        (PLAIN, "_xformers_attention", {}, False),
        (PLAIN, "fused_attention", {}, True),
        (PLAIN, "_xformers_attention", {"heir.py": HEIR}, True),
        (CHOSEN, "_xformers_attention", {}, True),
    ],
)
def test_a_private_method_that_nothing_names_is_no_other_way(forward, name, others, expected):
    files = texts({"a.py": LAYER.format(forward=forward, name=name), **others})
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    found = list(written_out(file))
    assert [has_another_way(file, attention.site) for attention in found] == [expected]
