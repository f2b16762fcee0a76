"""Loops that fill gradients with zeros."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.optimizers.zeroed_one_by_one import zeroed_one_by_one

STEP = """\
def train(model: nn.Module, loader, criterion, optimizer):
    for x, y in loader:
        criterion(model(x), y).backward()
        optimizer.step()
        for {over}:
{turn}
"""


@pytest.mark.parametrize(
    ("over", "turn", "count"),
    [
        ("p in model.parameters()", "p.grad.zero_()", 1),
        ("p in model.parameters()", "p.grad.data.zero_()", 1),
        ("p in model.parameters()", "if p.grad is not None:\n    p.grad.detach_()\n    p.grad.zero_()", 1),
        ("p in model.parameters()", "p.grad = None", 0),
        ("p in model.parameters()", "p.grad.zero_()\np.grad_bucket = 1", 0),
        ("n, p in model.named_parameters()", "if 'a' in n:\n    p.grad.zero_()", 0),
        ("p in (model.a, model.b)", "p.grad.zero_()", 0),
        ("p in model.parameters()", "p.grad.zero_()\nprint(p.grad)", 0),
        ("p in model.parameters()", "p.data.zero_()", 0),
    ],
)
def test_in_a_training_step(over, turn, count):
    inner = "\n".join(" " * 12 + line for line in turn.splitlines())
    assert len(_found(STEP.format(over=over, turn=inner))) == count


def test_once_or_where_gradients_stay():
    assert not _found("def once(model: nn.Module):\n    for p in model.parameters():\n        p.grad.zero_()\n")
    stays = STEP.format(over="p in model.parameters()", turn=" " * 12 + "p.grad.zero_()")
    assert not _found(f"graph = torch.cuda.CUDAGraph()\n{stays}")


def _found(text: str) -> list[object]:
    files = texts(text)
    return list(zeroed_one_by_one(SourceFile(Project.of_texts(files), "a.py", files["a.py"])))
