"""Settings that a call passes by the name of a literal."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.constants.named_settings import literals_written_out
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.syntax.arguments import literal
from torchperf_lint.facts.syntax.literals import UNKNOWN

MADE = "import lightning as L\n"
CALL = "L.Trainer(max_steps=steps, devices=2)"


def steps(text, **others):
    files = texts({"train.py": MADE + text, **{f"{name}.py": other for name, other in others.items()}})
    (site,) = SourceFile(Project.of_texts(files), "train.py", files["train.py"]).calls_of("lightning.Trainer")
    written = literals_written_out(site)
    assert literal(written, "devices") == 2
    return literal(written, "max_steps")


@pytest.mark.parametrize(
    "text",
    [
        f"steps = 20\n{CALL}",
        f"steps = 20\ndef main():\n    {CALL}",
        f"def main():\n    steps = 20\n    {CALL}",
        f"steps = 5\ndef main():\n    steps = 20\n    {CALL}",
    ],
)
def test_a_name_of_a_literal(text):
    assert steps(text) == 20


@pytest.mark.parametrize(
    "text",
    [
        f"steps = 20\nsteps = 30\n{CALL}",
        f"steps = 20\nsteps += 10\n{CALL}",
        f"steps = len(loader)\n{CALL}",
        f"for steps in (20, 30):\n    {CALL}",
        f"steps = 20\ndef main(steps):\n    {CALL}",
        f"steps = 20\ndef choose():\n    global steps\n    steps = 30\n{CALL}",
        f"steps = 20\nexec(open('configurator.py').read())\n{CALL}",
        f"from settings import steps\n{CALL}",
    ],
)
def test_a_name_that_may_be_something_else(text):
    assert steps(text) is UNKNOWN


def test_a_name_that_another_file_sets():
    assert steps(f"steps = 20\n{CALL}", other="import train\ntrain.steps = 40\n") is UNKNOWN
