"""Loops with as few turns as an option says that nobody has to give."""

from __future__ import annotations

import pytest
from snippets import marked, texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.hotness.few_by_default import turns_by_default

PRUNES = """\
def main(model: nn.Module, examples, pruner, optimizer, args):
    for i in range(args.rounds):
        loss = model(examples).loss
        loss.backward()
        print(f"{{loss}}")  # here
        {step}

parser = argparse.ArgumentParser()
parser.add_argument("--rounds", type=int{default})
main(model, examples, pruner, optimizer, parser.parse_args())
"""


@pytest.mark.parametrize(
    ("default", "step", "turns", "hot"),
    [
        (", default=1", "pruner.step()", 1, False),
        (", default=8", "pruner.step()", 8, False),
        (", default=100", "pruner.step()", 100, True),
        (", default=1", "optimizer.step()", None, True),
        (", default=1", "self.opt.step()", None, True),
        (", default='1'", "pruner.step()", None, True),
        (", required=True", "pruner.step()", None, True),
    ],
)
def test_loops_over_an_option(default, step, turns, hot):
    files = texts(PRUNES.format(default=default, step=step), imports="import argparse\nfrom torch import nn\n\n")
    project = Project.of_texts(files)
    outline = project.index.outlines["a.py"]
    region = next(region for region in outline.regions if region.kind == "loop")
    assert turns_by_default(outline, project.body("a.py"), region) == turns
    path, place = marked(files, "# here")
    assert (project.hotness.at(path, place) is not None) is hot
