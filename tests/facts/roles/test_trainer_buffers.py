"""Buffers that nobody moves, of modules that train others."""

from __future__ import annotations

import pytest

from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.roles.trainer_buffers import stays_with_its_trainer

CODE = """
from accelerate import Accelerator
from torch import nn
class Trainer(nn.Module):
    def __init__(self, model):
        super().__init__()
        {first}
        self.register_buffer("step", torch.tensor(0))
"""


@pytest.mark.parametrize(
    ("first", "stays"),
    [
        ("self.accelerator = Accelerator()", True),
        ("self.accelerator = Accelerator(); self.to(self.accelerator.device)", False),
        ("self.model = model", False),
    ],
)
def test_a_trainer_that_is_not_moved(first: str, stays: bool) -> None:
    project = Project.of_texts({"a.py": CODE.replace("{first}", first)})
    assert stays_with_its_trainer(project.index, Thing("class", "a.py", 0)) is stays
