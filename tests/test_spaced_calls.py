"""What is written with a space before its parenthesis, as code that ran with Python 2 has it."""

from __future__ import annotations

import pytest

from torchperf_lint.lint import Target, lint
from torchperf_lint.settings import Settings

STEP = """\
def train(model, loader, optimizer):
    for step, x in enumerate(loader):
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        {shown}
"""


@pytest.mark.parametrize(
    ("shown", "lines"), [("print (step, loss.data)", [6]), ("print (step, x.shape)", []), ("note (step, loss)", [])]
)
def test_a_print_in_a_step(tmp_path, shown, lines):
    path = tmp_path / "train.py"
    path.write_text(STEP.format(shown=shown))
    report = lint(Target(tmp_path, Settings(select=("TPL104",)), (path,)))
    assert [finding.location.line for finding in report.findings] == lines
