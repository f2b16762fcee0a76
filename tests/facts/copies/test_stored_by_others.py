"""Copies that go into what another object keeps on the host."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.copies.stored_by_others import stored_by_others
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile


@pytest.mark.parametrize(
    ("statement", "stored"),
    [
        ('self.saver.store["grads"][rows] = x.cpu()', True),
        ("self.saver.store[rows] = x.cpu().clone().detach()", True),
        ("self.saver.store = x.cpu()", False),
        ("self.store[rows] = x.cpu()", False),
        ("store[rows] = x.cpu()", False),
        ("self.saver.store[rows] = x.cpu() * 2", False),
        ("self.saver.store[rows] = max(x.cpu())", False),
        ("self.saver.store[x.cpu()] = rows", False),
    ],
)
def test_what_is_put_into_entries_of_anothers_attribute(statement, stored):
    code = f"class Tracer:\n    def trace(self, x, rows, store):\n        {statement}\n"
    files = texts(code)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    site = next(file.calls_among([call for call in file.outline.calls if call.callee == "x.cpu"]))
    assert stored_by_others(site) is stored
