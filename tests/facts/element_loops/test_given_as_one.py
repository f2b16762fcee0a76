"""Parameters that each call gives one tensor, and others, which may be lists."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.element_loops.given_as_one import is_given_one_tensor
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

SOLVER = {
    "a.py": """
def errors(found, wanted):
    total = []
    for f, w in zip(found, wanted):
        total.append(len(w.tolist()))
    return sum(total)
""",
    "b.py": """
from a import errors

class Solver:
    def __init__(self, model: nn.Module, device):
        self.model, self.device = model, device

    def move(self, batch):
        x, y = batch
        y = y.to(self.device)
        return x.to(self.device), y

    @torch.no_grad()
    def evaluate(self, loader):
        self.model.eval()
        found = 0
        for batch in loader:
            x, y = self.move(batch)
            found += errors(self.model(x), y)
        return found
""",
}


def is_one(path: str = "b.py", old: str = "", new: str = "") -> bool:
    """Whether `wanted` is known to be one tensor where its rows are read."""
    assert old in SOLVER[path]
    files = texts({**SOLVER, path: SOLVER[path].replace(old, new)})
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    (site,) = file.hot_calls("tolist")
    return is_given_one_tensor(file, site, ast.parse("wanted", mode="eval").body)


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("b.py", "", ""),
        ("b.py", "errors(self.model(x), y)", "errors(self.model(x), wanted=y)"),
        ("b.py", "x, y = self.move(batch)", "x, y = batch\n            y = y.cuda()"),
    ],
)
def test_what_was_moved_is_one_tensor(path: str, old: str, new: str):
    assert is_one(path, old, new)


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("b.py", "y = y.to(self.device)", "y = [part.to(self.device) for part in y]"),
        ("b.py", "errors(self.model(x), y)", "errors(x, self.model(x))"),
        ("b.py", "return found", "return found + errors([x], [x])"),
        ("b.py", "return x.to(self.device), y", "return (x.to(self.device), y) if len(x) else batch"),
        ("a.py", "    total = []\n", "    total, wanted = [], [w for w in wanted]\n"),
    ],
)
def test_what_may_be_a_list_is_none(path: str, old: str, new: str):
    assert not is_one(path, old, new)
