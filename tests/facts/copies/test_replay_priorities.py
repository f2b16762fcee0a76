"""Values that go back to the replay memory that has drawn the samples."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.copies.replay_priorities import sets_priorities
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

STEP = """
import torch
from torch import nn

def learn(self, model: nn.Module, optimizer, mem, other):
    for _ in range(1000):
        {drawn}
        errors = model(states.cuda()) ** 2
        errors.mean().backward()
        optimizer.step()
        {used}
"""


def goes_back(drawn: str, used: str) -> bool:
    files = texts(STEP.format(drawn=drawn, used=used))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    (site,) = file.hot_calls("cpu")
    return sets_priorities(site)


DRAWN = "rows, states, weights = mem.sample(64)"


@pytest.mark.parametrize(
    ("drawn", "used"),
    [
        (DRAWN, "mem.update_priorities(rows, errors.detach().cpu().numpy())"),
        (DRAWN, "mem.update(idx=rows, priority=abs(errors.detach().cpu().numpy()) + 1e-6)"),
        (DRAWN, "new = errors.cpu().numpy()\n        new = abs(new)\n        mem.set_priority(rows, new + 1e-6)"),
        ("rows, states = self.mem.sample(64)", "self.mem.update_priorities(rows, errors.cpu())"),
    ],
)
def test_a_memory_gets_its_samples_back(drawn, used):
    assert goes_back(drawn, used)


@pytest.mark.parametrize(
    ("drawn", "used"),
    [
        (DRAWN, "other.update_priorities(rows, errors.cpu().numpy())"),
        (DRAWN, "mem.log(errors.cpu().numpy())"),
        (DRAWN, "mem.update_priorities(rows, errors)\n        other.append(errors.cpu())"),
        (DRAWN, "new = errors.cpu()\n        print(new)\n        mem.update_priorities(rows, errors)"),
        ("rows, states = mem.collect(64)", "mem.update_priorities(rows, errors.cpu())"),
    ],
)
def test_what_others_get_is_no_priority(drawn, used):
    assert not goes_back(drawn, used)
