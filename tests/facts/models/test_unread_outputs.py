"""Outputs that a transformer is asked for and that nothing reads."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.models.unread_outputs import unread_outputs, written_out_attention

LOADED = "from transformers import AutoModel\nmodel = AutoModel.from_pretrained('x', attn_implementation='eager')\n"
FORWARD = """
class M(nn.Module):
    def forward(self, ids, other):
        out = self.encoder(ids, {})
        return {}
"""
WEIGHTS, STATES = "output_attentions=True", "output_hidden_states=True"


def of(snippet: str) -> SourceFile:
    files = texts(snippet)
    return SourceFile(Project.of_texts(files), "a.py", files["a.py"])


@pytest.mark.parametrize(
    ("asked", "returned", "found"),
    [
        (WEIGHTS, "out.logits", ["`logits`"]),
        (STATES, 'out["loss"] + out.loss', ["`loss`"]),
        (STATES, "out[0]", ["`[0]`"]),
        (STATES, "out[1]", []),
        (STATES, "out[-1]", []),
        (WEIGHTS, "out", []),
        (WEIGHTS, "out.attentions", []),
        (WEIGHTS, "out.logits, out.attentions", []),
        (WEIGHTS, "other(out)", []),
        (WEIGHTS, "lambda: out", []),
        ("output_attentions=other", "out.logits", []),
        ("output_attentions=False", "out.logits", []),
    ],
)
def test_what_is_read_of_the_result(asked, returned, found):
    assert [unread.read for unread in unread_outputs(of(FORWARD.format(asked, returned)))] == found


@pytest.mark.parametrize(
    ("more", "count"),
    [
        ("", 1),
        (FORWARD.format(WEIGHTS, "out.logits"), 1),
        (FORWARD.format(WEIGHTS, "out"), 0),
        ("def f(out): return out.attentions", 0),
        ("model.register_forward_hook(print)", 0),
        ("torch.onnx.export(model)", 0),
        ("name = 'google/gemma-2-9b'", 0),
    ],
)
def test_attention_written_out_for_nobody(more, count):
    assert len(list(written_out_attention(of(LOADED + more)))) == count
