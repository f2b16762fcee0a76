"""Loops around the passes over a loader."""

from __future__ import annotations

from textwrap import indent

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.loaders.loaders import loaders_of
from torchperf_lint.facts.loaders.passes_again import read_again
from torchperf_lint.model import Confidence

STEP = """
for x in loader:
    model(x.cuda()).sum().backward()
    optimizer.step()
"""
MAKE = "loader = DataLoader(dataset, num_workers=2)\n"


def again(body):
    snippet = f"def train(model: nn.Module, dataset, optimizer, epochs):\n{indent(body, '    ')}"
    files = texts(snippet)
    project = Project.of_texts(files)
    file = SourceFile(project, "a.py", files["a.py"])
    (site,) = file.calls_of("torch.utils.data.DataLoader")
    origin = ("a.py", *site.start)
    found = read_again(project, origin, loaders_of(project).uses(origin))
    return found.region.detail if found is not None else None


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (MAKE + "for epoch in range(epochs):" + indent(STEP, "    "), "for epoch in range(epochs)"),
        (MAKE + "while True:" + indent(STEP, "    "), "while True"),
        (MAKE + "for epoch in range(2):" + indent(STEP, "    "), None),
        (MAKE + STEP, None),
        ("for epoch in range(epochs):\n    " + MAKE + indent(STEP, "    "), None),
        (MAKE + "for epoch in range(epochs):\n    dataset.set_epoch(epoch)" + indent(STEP, "    "), None),
        (MAKE + "for epoch in range(epochs):\n    loader.dataset.size = epoch" + indent(STEP, "    "), None),
        (
            MAKE + "for epoch in range(epochs):\n    loader.sampler.set_epoch(epoch)" + indent(STEP, "    "),
            "for epoch in range(epochs)",
        ),
    ],
)
def test_the_loop(body, expected):
    assert again(body) == expected


ENDLESS = """
    def endless(dl):
        while True:
            for batch in dl:
                yield batch

    def train(model: nn.Module, dataset, optimizer):
        batches = endless(DataLoader(dataset, num_workers=2))
        for _ in range(900):
            {takes}
            model(torch.ones(3).cuda()).sum().backward()
            optimizer.step()
"""


@pytest.mark.parametrize(
    ("takes", "confidence"), [("x = next(batches)", Confidence.CERTAIN), ("pass", Confidence.POSSIBLE)]
)
def test_a_generator_that_a_step_draws_on_is_as_hot_as_the_step(takes, confidence):
    files = texts(ENDLESS.format(takes=takes))
    project = Project.of_texts(files)
    (site,) = SourceFile(project, "a.py", files["a.py"]).calls_of("torch.utils.data.DataLoader")
    origin = ("a.py", *site.start)
    found = read_again(project, origin, loaders_of(project).uses(origin))
    assert found is not None
    assert found.region.detail == "while True"
    assert found.use.hot.confidence is confidence
