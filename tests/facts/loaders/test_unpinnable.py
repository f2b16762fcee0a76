"""Batches that a loader cannot pin."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.loaders.unpinnable import unpinned_batch


def what(made, base="", method="other"):
    snippet = f"""
    class Batch{base}:
        def __init__(self, x):
            self.x = x

        def {method}(self):
            return self

    def collate(items):
        return {made}

    def loader_of(data):
        return DataLoader(data, collate_fn=collate)
    """
    files = texts(snippet)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    (site,) = file.calls_of("torch.utils.data.DataLoader")
    return unpinned_batch(file.project, site)


@pytest.mark.parametrize(
    ("made", "base", "method", "expected"),
    [
        ("Batch(items)", "", "other", "`collate` returns a `Batch`"),
        ("Batch(items)", "(object)", "other", "`collate` returns a `Batch`"),
        ("Batch(items)", "", "pin_memory", None),
        ("Batch(items)", "", "__getitem__", None),
        ("Batch(items)", "(dict)", "other", None),
        ("Batch(items)", "(Unknown)", "other", None),
        ("np.zeros(4)", "", "other", "`collate` returns an array of numpy"),
        ("(np.zeros(4), np.ones(4))", "", "other", "`collate` returns arrays of numpy"),
        ("(np.zeros(4), torch.stack(items))", "", "other", None),
        ("torch.stack(items)", "", "other", None),
        ("[Batch(item) for item in items]", "", "other", None),
    ],
)
def test_what_is_not_pinned(made, base, method, expected):
    assert what(made, base, method) == expected
