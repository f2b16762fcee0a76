"""Indices that numpy draws, of tensors on the device."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.host_indices import host_indices

CODE = """
    import random

    class Net(nn.Module):
        def forward(self, x: torch.Tensor, kept: np.ndarray, n: int, k: int):
            x = x.cuda()
            rows = {drawn}
            return {taken}
"""


def found(drawn, taken="x[rows]"):
    files = texts(CODE.format(drawn=drawn, taken=taken))
    return [index.instead for index in host_indices(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))]


@pytest.mark.parametrize(
    ("drawn", "taken", "there"),
    [
        ("np.random.permutation(len(x))", "x[rows]", "torch.randperm(n, device=x.device)`"),
        ("np.random.permutation(x.shape[0])[:k]", "x[:, rows]", "torch.randperm(n, device=x.device)`"),
        ("np.random.permutation(n)", "x[rows[:k]]", "torch.randperm(n, device=x.device)`"),
        ("np.random.choice(n, k, replace=False)", "x[rows]", "torch.randperm(n, device=x.device)[:k]"),
        ("np.random.choice(n, k, False)", "x[rows]", "torch.randperm(n, device=x.device)[:k]"),
        ("np.random.choice(n, size=k)", "x[rows]", "torch.randint(n, (k,), device=x.device)"),
        ("np.random.randint(0, n, k)", "x[rows]", "torch.randint(n, (k,), device=x.device)"),
        ("np.random.randint(n, size=k)", "x[rows]", "torch.randint(n, (k,), device=x.device)"),
        ("np.random.randint(5, n, k)", "x[rows]", "torch.randint(low, high, (k,), device=x.device)"),
        ("np.random.randint(5, high=n, size=k)", "x[rows]", "torch.randint(low, high, (k,), device=x.device)"),
        ("random.sample(range(n), k)", "x[rows]", "torch.randperm(n, device=x.device)[:k]"),
    ],
)
def test_the_device_can_draw_them(drawn, taken, there):
    (instead,) = found(drawn, taken)
    assert there in instead


@pytest.mark.parametrize(
    ("drawn", "taken"),
    [
        ("np.random.permutation(kept)", "x[rows]"),
        ("np.random.choice(kept, k)", "x[rows]"),
        ("np.random.choice(n, k, p=kept)", "x[rows]"),
        ("np.random.choice(n)", "x[rows]"),
        ("np.random.randint(0, n)", "x[rows]"),
        ("random.sample(kept, k)", "x[rows]"),
        ("np.random.permutation(n)", "kept[rows]"),
        ("np.random.permutation(n)", "x.cpu()[rows]"),
        ("np.random.permutation(n)", "x[rows[0]]"),
        ("np.random.permutation(n)", "x[rows], kept[rows]"),
        ("np.random.permutation(n)[:4]", "x[rows], kept[:, rows]"),
        ("np.random.permutation(n)", "x[rows], len(rows)"),
        ("np.random.randint(0, kept, 3)", "x[rows]"),
        ("random.sample(range(5, n), k)", "x[rows]"),
    ],
)
def test_what_only_the_host_has_and_single_numbers_are_left_alone(drawn, taken):
    assert found(drawn, taken) == []


def test_uses_that_are_all_of_tensors_on_the_device_are_told():
    assert found("np.random.permutation(n)", "x[rows], x[:, rows[:k]]")
