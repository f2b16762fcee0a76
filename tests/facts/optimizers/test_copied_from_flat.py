"""Parts of one flat tensor that a loop copies back."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.optimizers.copied_from_flat import copied_from_flat

TRAIN = """\
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors

def train(model: nn.Module, loader, optimizer, criterion, names):
    for x, y in loader:
        criterion(model(x), y).backward()
        grads = [p.grad for p in model.parameters()]
        flat = _flatten_dense_tensors(grads)
        parts = _unflatten_dense_tensors(flat, grads)
        torch.distributed.all_reduce(flat)
        for {loop}:
            {turn}
        optimizer.step()
"""


def found(text):
    files = texts(text)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    return len(list(copied_from_flat(file)))


@pytest.mark.parametrize(
    ("loop", "turn", "expected"),
    [
        ("g, part in zip(grads, _unflatten_dense_tensors(flat, grads))", "g.copy_(part)", 1),
        ("g, part in zip(grads, torch._utils._unflatten_dense_tensors(flat, grads))", "g.copy_(part)", 1),
        ("g, part in zip(grads, parts)", "g.copy_(part)", 1),
        ("part, p in zip(parts, model.parameters())", "p.grad.data.copy_(part)", 1),
        ("p, g, part in zip(names, grads, parts)", "g.copy_(part)", 1),
        ("g, part in zip(grads, parts)", "g.copy_(part.float())", 0),
        ("g, part in zip(grads, parts)", "print(g); g.copy_(part)", 0),
        ("g, part in zip(grads, parts)", "part.copy_(g)", 0),
        ("g, part in zip(grads, names)", "g.copy_(part)", 0),
        ("part in parts", "flat.copy_(part)", 0),
        ("n, part in zip(names, parts)", "model.state[n].copy_(part)", 0),
    ],
)
def test_what_a_turn_copies(loop, turn, expected):
    assert found(TRAIN.format(loop=loop, turn=turn)) == expected


def test_once_or_known_better():
    loop = "for g, part in zip(grads, _unflatten_dense_tensors(flat, grads)):\n        g.copy_(part)\n"
    assert found(f"def load(flat, grads):\n    {loop}") == 0
    text = TRAIN.format(loop="g, part in zip(grads, parts)", turn="g.copy_(part)")
    assert found(text + "\nforeach = torch._foreach_copy_\n") == 0
