"""Arrays that a module holds since it was built, as indices of tensors on the device."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.host_indices import host_indices

CODE = """
class Net(nn.Module):
    def __init__(self, kept, table: np.ndarray):
        super().__init__()
        self.proj = nn.Linear(3, 3)
        self.kept = {kept}

    def forward(self, x: torch.Tensor):
        return self.proj(x.cuda())[:, self.kept]
"""


def told(kept, after="net = Net(np.array((0, 2)), t)"):
    """The indices that are told of a module that is built so, followed by other code."""
    files = texts(CODE.format(kept=kept) + "\n" + after + "\n")
    found = host_indices(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))
    return [(ast.unparse(index.spot.expression), index.source) for index in found]


@pytest.mark.parametrize("kept", ["np.array([2, 0])", "np.argsort(table) if kept is None else np.arange(3)", "kept"])
def test_an_array_is_copied_in_each_pass(kept):
    assert told(kept) == [("self.kept", "the array `self.kept` is host memory")]


@pytest.mark.parametrize(
    ("kept", "after"),
    [
        ("np.argmax(table)", ""),
        ("np.array([2, 0])[0]", ""),
        ("table.max()", ""),
        ("np.int64(3)", ""),
        ("kept", ""),
        ("kept", "net = Net(np.array((0, 2)), t)\nother = Net(1, t)"),
        ("np.arange(3)", "    def keep(self, n):\n        self.kept = np.arange(n)\n"),
        ("np.arange(3)", "    def keep(self, n):\n        self.kept[0] = n\n"),
        ("np.arange(3)", "net = Net(1, t)\nnet.kept = choose(t)"),
    ],
)
def test_numbers_and_what_changes_are_none(kept, after):
    assert told(kept, after) == []
