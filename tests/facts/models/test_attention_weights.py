"""Calls of multi-head attention whose weights nothing reads."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.models.attention_weights import unread_weights

LAYER = """\
class Layer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.attn = nn.MultiheadAttention(dim, 8)
        self.other = nn.Linear(dim, dim)

    def forward(self, x, mask, need):
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("y, _ = self.attn(x, x, x)\nreturn y", ["nothing reads `_`"]),
        ("y, w = self.attn(x, x, x)\nreturn y", ["nothing reads `w`"]),
        ("y, w = self.attn(x, x, x)\nreturn y * w.sum()", []),
        ("y, self.w = self.attn(x, x, x)\nreturn y", []),
        ("return self.attn(x, x, x)[0]", ["only `[0]` is taken"]),
        ("return self.attn(x, x, x)[1]", []),
        ("return self.attn(x, x, x)", []),
        ("y = self.attn(x, x, x)\nreturn y[0]", ["all that is read of `y` is `y[0]`"]),
        ("y = self.attn(x, x, x)\nreturn y[0], y", []),
        ("y = self.attn(x, x, x)\ny = y[0]\nreturn y", ["all that is read of `y` is `y[0]`"]),
        ("return self.attn(x, x, x, need_weights=True)[0]", ["only `[0]` is taken"]),
        ("return self.attn(x, x, x, need_weights=need)[0]", []),
        ("return self.attn(x, x, x, None, False)[0]", []),
        ("return self.attn(x, x, x, average_attn_weights=False)[0]", []),
        ("return self.attn(*x)[0]", []),
        ("return self.other(x)[0]", []),
    ],
)
def test_unread_weights(body, expected):
    inner = "\n".join(" " * 8 + line for line in body.splitlines())
    files = texts(f"{LAYER}{inner}\n")
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert [unread.how for unread in unread_weights(file)] == expected


LISTED = """\
class Layers(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.layers = nn.ModuleList()
        for _ in range(4):
            layer = {made}(dim, 8)
            self.layers.append(layer)

    def forward(self, x):
        for i in range(4):
            y, _ = self.layers[i](x, x, x)
            x = x + y
        return x
"""


@pytest.mark.parametrize(("made", "expected"), [("nn.MultiheadAttention", ["nothing reads `_`"]), ("Own", [])])
def test_one_of_a_list(made, expected):
    files = texts(LISTED.format(made=made))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert [unread.how for unread in unread_weights(file)] == expected
