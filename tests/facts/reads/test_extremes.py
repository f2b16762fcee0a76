"""`max`, `min` and `sorted` of tensors, and of what is none."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.extremes import extremes

STEP = """\
def train(model: nn.Module, loader, optimizer, criterion: nn.Module, device, sigmas):
    worst, seen = 0.0, []
    for step, (x, y) in enumerate(loader):
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        norms = {name: p.grad.norm() for name, p in model.named_parameters()}
        sigma = loss.exp()
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("worst = max(worst, loss.detach())", ["worst"]),
        ("worst = min(loss, y.float().mean())", ["loss"]),
        ("worst = max(norms.values())", ["norms.values()"]),
        ("worst = max(norms, key=norms.get)", ["norms"]),
        ("worst = max(norms, key=len)", []),
        ("worst = sorted([loss, loss * 2])", ["[loss, loss * 2]"]),
        ("worst = max(x.shape[0], 3)", []),
        ("worst = max(worst, loss.item())", []),
        ("worst = max(loss / (state['loss'] + 1e-8), 1.01)", ["loss / (state['loss'] + 1e-8)"]),
        ("worst = max(loss.mean(), state['loss'])", []),
        ("worst = torch.max(loss, x)", []),
        ("worst = max(loss)", []),
        ("worst = x[: max(loss, 3)]", []),
        ("worst = x.view(max(loss, 3))", []),
        ("worst = max(sigma, loss)", []),
        ("if torch.is_tensor(x):\n    pass\nelse:\n    worst = max(loss, 3)", []),
    ],
)
def test_extremes(body, expected):
    inner = "\n".join(" " * 8 + line for line in body.splitlines())
    files = texts(f"{STEP}{inner}\n")
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert [file.source(found.operand) for found in extremes(file)] == expected
