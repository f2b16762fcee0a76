"""What becomes of a number that was read from the device."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.kept_as import RECORDED, RETURNED, USED, kept_as
from torchperf_lint.facts.reads.reads import item_readings

STEP = """
import torch
from torch import nn

def train(model: nn.Module, loader, optimizer, pool, log):
    total, history, stats = 0, [], {{}}
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()
        optimizer.step()
        {use}
        log.info(x.shape)
    return total
"""


def reading(use: str):
    files = texts(STEP.format(use=use.replace("\n", "\n        ")))
    (found,) = item_readings(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))
    return found.site


@pytest.mark.parametrize(
    ("use", "then"),
    [
        ("total += loss.item()", RECORDED),
        ("total = total + loss.item()", RECORDED),
        ("history.append(round(loss.item(), 4))", RECORDED),
        ("log.info('%s', loss.item())", RECORDED),
        ("stats['loss'] = loss.item()", RECORDED),
        ("value = loss.item()\nhistory.append(value)", RECORDED),
        ("value = loss.item()\nhistory.append(value)\npool(x, value)", USED),
        ("value = loss.item()\nother = 2 * value\nstats['x'] = other", RECORDED),
        ("pool(x, loss.item())", USED),
        ("return {'loss': loss.item()}", RETURNED),
        ("yield loss.item()", RETURNED),
        ("value = loss.item()\nreturn value, x", RETURNED),
        ("n = int(loss.item())\npool_log_ratio(x, n)", USED),
        ("self.log_values(loss.item())", RECORDED),
        ("while total < 9:\n    total += loss.item()", USED),
        ("group = optimizer.param_groups[0]\ngroup['lr'] = loss.item()", USED),
        ("stats['size'] = int(loss.item())\nreturn stats", RETURNED),
        ("stats['loss'] = loss.item()\nreturn stats", RECORDED),
        ("return not loss.item()", USED),
        ("scales = []\nscales.append(-loss.item())\ntorch._foreach_mul_(x, scalars=scales)", USED),
        ("sizes = []\nsizes.append(loss.item())\nx = torch.zeros([2, sum(sizes)])", USED),
        ("history.append(loss.item())\nlog.info(sum(history))", RECORDED),
    ],
)
def test_kept_as(use: str, then: str):
    assert kept_as(reading(use)) == then


OBJECT = """
import torch
from torch import nn

class Trainer:
    def train(self, model: nn.Module, loader, optimizer):
        for x in loader:
            loss = model(x.cuda()).mean()
            loss.backward()
            self.kept = loss.item()
            optimizer.step()

    def other(self, optimizer, x):
        {use}
"""


@pytest.mark.parametrize(
    ("use", "then"),
    [
        ("return self.kept", RECORDED),
        ("print(self.kept)", RECORDED),
        ("x.add_(self.kept * x)", USED),
        ("x = -self.kept * x", USED),
        ("optimizer.param_groups[0]['lr'] = self.kept", USED),
        ("for group in optimizer.param_groups:\n            group['lr'] = self.kept", USED),
    ],
)
def test_an_attribute_that_other_methods_read(use: str, then: str):
    files = texts(OBJECT.format(use=use))
    (found,) = item_readings(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))
    assert kept_as(found.site) == then
