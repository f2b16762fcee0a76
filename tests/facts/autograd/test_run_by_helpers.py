"""Where the function that is handed a model runs it."""

from __future__ import annotations

import pytest

from torchperf_lint.facts.autograd.run_by_helpers import run_by_helper
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

HELPERS = """
def save_one(image, net, path=None):
    shown = image.float()
    y = net(shown)
    write(y, path)

def keep(image, net):
    kept.append(net)
"""


@pytest.mark.parametrize(
    ("call", "line"),
    [
        ("save_one(x, model)", 4),
        ("save_one(x, net=model)", 4),
        ("save_one(model, other)", None),
        ("keep(x, model)", None),
        ("elsewhere(x, model)", None),
    ],
)
def test_the_line_that_runs_what_a_call_hands_over(call, line):
    text = f"from helpers import keep, save_one\n\nfor x in loader:\n    {call}\n"
    project = Project.of_texts({"main.py": text, "helpers.py": HELPERS})
    file = SourceFile(project, "main.py", text)
    site = next(file.calls_among(file.outline.calls))
    found = run_by_helper(site, "model")
    assert (found and (found[0], found[1].line)) == (line and ("helpers.py", line))
