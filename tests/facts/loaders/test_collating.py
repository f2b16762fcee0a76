"""Loaders that put batches together from samples which one index could take."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.loaders.collating import collated_by_sample
from torchperf_lint.model import Confidence

LIKELY, POSSIBLE = Confidence.LIKELY, Confidence.POSSIBLE


def batch_of(made, rows="self.x[i], self.y[i]", kept="torch.tensor(x)", before="'an item'"):
    snippet = f"""
    from torch.utils.data import Dataset, Subset, TensorDataset, random_split

    SIZE = 256

    class Rows(Dataset):
        def __init__(self, x, y):
            self.x = {kept}
            self.y = torch.tensor(y)

        def __getitem__(self, i):
            {before}
            return {rows}

    def train(x, y, args, b, size=32, none=None):
        local = 16
        loader = DataLoader({made})
    """
    files = texts(snippet)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    (site,) = file.calls_of("torch.utils.data.DataLoader")
    found = collated_by_sample(site)
    return found.confidence if found is not None else None


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ("batch_size=64", LIKELY),
        ("64", LIKELY),
        ("batch_size=SIZE", LIKELY),
        ("batch_size=local", LIKELY),
        ("batch_size=size", LIKELY),
        ("batch_size=b", POSSIBLE),
        ("batch_size=args.batch_size", POSSIBLE),
        ("batch_size=64, sampler=args.sampler", POSSIBLE),
        ("batch_size=1", None),
        ("batch_size=None", None),
        ("shuffle=True", None),
        ("batch_size=64, collate_fn=args.pad", None),
        ("batch_size=64, collate_fn=None", LIKELY),
        ("batch_sampler=args.batches", None),
        ("batch_size=64, **args", None),
        ("*args", None),
    ],
)
def test_sizes(size, expected):
    assert batch_of(f"TensorDataset(x, y), {size}") is expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("TensorDataset(x, y)", LIKELY),
        ("TensorDataset(torch.randn(100, 3))", None),
        ("TensorDataset(torch.randn(100_000, 3))", LIKELY),
        ("Subset(TensorDataset(x, y), args.indices)", LIKELY),
        ("torch.zeros(50_000)", LIKELY),
        ("Rows(x, y)", LIKELY),
        ("x", None),
        ("args.dataset", None),
    ],
)
def test_data_sets(data, expected):
    assert batch_of(f"{data}, batch_size=64") is expected


@pytest.mark.parametrize(
    ("rows", "kept", "expected"),
    [
        ("self.x[i]", "torch.tensor(x)", LIKELY),
        ("self.x[i], self.y[i]", "np.asarray(x)", LIKELY),
        ("{'x': self.x[i], 'y': self.y[i]}", "torch.tensor(x)", LIKELY),
        ("torch.from_numpy(self.x[i]).float()", "np.asarray(x)", LIKELY),
        ("self.x[i]", "x", POSSIBLE),
        ("self.x[i]", "[torch.tensor(row) for row in x]", None),
        ("self.x[i]", "np.load(x, mmap_mode='r')", None),
        ("self.x[i : i + 10]", "torch.tensor(x)", None),
        ("self.x[i].flip(0)", "torch.tensor(x)", None),
        ("self.x[i] * 2", "torch.tensor(x)", None),
        ("self.x[self.y[i]]", "torch.tensor(x)", None),
    ],
)
def test_own_classes(rows, kept, expected):
    assert batch_of("Rows(x, y), batch_size=64", rows, kept) is expected


@pytest.mark.parametrize(
    ("before", "expected"),
    [("x = self.x[i]", LIKELY), ("if i % 2:\n                x = 1", None), ("x = self.draw(i)", None)],
)
def test_what_comes_before_the_row(before, expected):
    assert batch_of("Rows(x, y), batch_size=64", "x", "torch.tensor(x)", before) is expected
