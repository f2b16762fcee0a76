"""Numbers that are losses, which no host knows before the device has computed them, and others."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.loss_numbers import reads_a_loss

STEP = """
import torch
from torch import nn

def train(model: nn.Module, loader, optimizer, criterion, logger):
    for x, y, lengths in loader:
        x, y, lengths = x.cuda(), y.cuda(), lengths.cuda()
        out = model(x)
        objective = criterion(out, y)
        losses = {{"class": criterion(out, y), "box": out.abs()}}
        loss_steps = lengths.sum()
        objective.backward()
        optimizer.step()
        {read}
"""


def is_loss(read: str) -> bool:
    files = texts(STEP.format(read=read))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    (site,) = file.hot_calls("item", "float", "tolist")
    return reads_a_loss(site)


@pytest.mark.parametrize(
    "read",
    [
        "logger.show(objective.item())",
        "logger.show(float(objective.detach()))",
        "logger.show(objective.detach().cpu().item())",
        "logger.show((objective / 4).item())",
        "logger.show(losses['box'].sum().item())",
        "logger.show(nn.functional.cross_entropy(out, y).item())",
        "shown = objective * 4\n        logger.show(shown.item())",
        "for key, values in losses.items():\n            logger.show(key, values.mean().item())",
        "for key, values in losses.items():\n            logger.show(key, values.sum().item())",
        "logger.show({k: v.item() for k, v in losses.items()})",
        "logger.show(out.half().mean().item())",
    ],
)
def test_losses_and_means(read: str):
    assert is_loss(read)


@pytest.mark.parametrize(
    "read",
    [
        "logger.show(lengths.max().item())",
        "logger.show(loss_steps.item())",
        "logger.show(lengths.tolist())",
        "logger.show(out.argmax().item())",
        "logger.show(losses['box'].argmax().item())",
        "logger.show((losses['box'] > 1).sum().item())",
        "logger.show(losses['box'][out > 1].sum().item())",
        "for name, values in model.named_parameters():\n            logger.show(name, values.sum().item())",
        "for key, _ in losses.items():\n            logger.show(float(key))",
    ],
)
def test_numbers_that_the_host_may_know(read: str):
    assert not is_loss(read)
