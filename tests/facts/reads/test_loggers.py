"""Calls of trackers, and what they read from the device."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.loggers import logged

TRAIN = """
    import wandb

    class Run:
        def __init__(self, fabric):
            self.fabric = fabric

        def log(self, **found):
            self.fabric.log_dict(found)

    def train(net: nn.Module, loader: DataLoader, opt, fabric, run: Run):
        for x, y in loader:
            losses = [net(x.cuda()).mean(), net(y.cuda()).mean()]
            terms = {"first": losses[0], "second": losses[1]}
            shown = {name: term.item() for name, term in terms.items()}
            loss = sum(losses)
            loss.backward()
            opt.step()
            LOGS
"""


def reads(logs: str) -> list[str]:
    files = texts(TRAIN.replace("LOGS", logs))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    return [ast.unparse(read) for call in logged(file) for read in call.reads]


@pytest.mark.parametrize(
    ("logs", "expected"),
    [
        ("fabric.log('loss', loss)", ["loss"]),
        ("self.fabric.log_dict({'loss': loss.detach(), 'n': 3})", ["loss.detach()"]),
        ("fabric.log_dict(shown)", []),
        ("lists.log_dict({'loss': loss})", []),
        ("run.log(first=losses[0])", ["found"]),
        ("run.log(first=3)", []),
        ("for name in terms: wandb.log(losses)", ["losses"]),
        ("losses[0] = loss.item(); wandb.log(losses)", []),
        ("wandb.log(shown)", []),
        ("writer.add_histogram('losses', loss, 3)", ["loss"]),
        ("writer.add_histogram('losses', 3)", []),
    ],
)
def test_what_trackers_read(logs, expected):
    assert reads(logs) == expected
