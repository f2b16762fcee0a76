"""States of optimizers that are put together for one entry of them."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.optimizers.states_read import attribute_read_as_state

TRAIN = """
def train(net: nn.Module, loader: DataLoader, optimizer, scheduler):
    for x in loader:
        net(x.cuda()).sum().backward()
        optimizer.step()
        {read}
"""


@pytest.mark.parametrize(
    ("read", "instead"),
    [
        ('print(optimizer.state_dict()["param_groups"][0]["lr"])', "optimizer.param_groups"),
        ('moments = optimizer.state_dict()["state"][0]', "optimizer.state[parameter]"),
        ('scheduler.base.state_dict()["param_groups"][0]', "scheduler.base.param_groups"),
        ('net.state_dict()["state"]', None),
        ('scheduler.state_dict()["last_epoch"]', None),
        ("kept = optimizer.state_dict()", None),
        ('optimizer.state_dict()["param_groups"] = []', None),
        ('kept = {"param_groups": optimizer.state_dict()}', None),
    ],
)
def test_entries_of_states(read, instead):
    files = texts(TRAIN.format(read=read))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    (site,) = file.hot_calls("state_dict")
    assert attribute_read_as_state(site) == instead
