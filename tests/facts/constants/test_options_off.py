"""Branches behind options of the command line that are off unless somebody asks for them."""

from __future__ import annotations

import pytest

from torchperf_lint.facts.call_graph.programs import Beside
from torchperf_lint.facts.constants.options_off import option_off
from torchperf_lint.facts.files.project import Project
from torchperf_lint.lint import Target, lint
from torchperf_lint.model import Confidence
from torchperf_lint.settings import Settings

CODE = """
import argparse
import torch
from torch.utils.data import DataLoader

parser = argparse.ArgumentParser()
parser.add_argument({declared})
args = parser.parse_args()
model = torch.nn.Linear(4, 1).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for x in DataLoader([]):
    loss = model(x).sum()
    loss.backward()
    optimizer.step()
    {test}
        print(loss.item())
"""
SWITCH = '"--log-all", action="store_true"'


def asked(test="if args.log_all:", declared=SWITCH, commands="", settings=None, **more):
    texts = {f"{name}.py": text for name, text in more.items()}
    texts["train.py"] = CODE.format(declared=declared, test=test)
    project = Project.of_texts(texts)
    project.hotness.programs.beside = Beside(settings, commands=commands)
    line = next(n for n, text in enumerate(texts["train.py"].splitlines(), 1) if "print" in text)
    return option_off(project, "train.py", line)


@pytest.mark.parametrize(
    "test",
    [
        "if args.log_all:",
        "if loss is not None and args.log_all:",
        "if args.log_all is not None:",
        "if not args.log_all:\n        pass\n    else:",
        "if True:\n      if args.log_all:",
    ],
)
def test_branches_that_nobody_asked_for(test):
    assert asked(test) == "args.log_all"


@pytest.mark.parametrize(
    "test", ["if not args.log_all:", "if args.log_all or loss is None:", "if args.other:", "if args.log_all is None:"]
)
def test_branches_that_run_without_the_option(test):
    assert asked(test) is None


@pytest.mark.parametrize(
    ("declared", "off"),
    [
        ('"--log-all", default=False, type=bool', True),
        ('"--log_all", default=None', True),
        ('"--every", dest="log_all", action="store_const", const=1, default=0', True),
        ('"--log-all", default=True, type=bool', False),
        ('"--log-all", action="store_false"', False),
        ('"--log-all", required=True', False),
        ('"--log-all", **options', False),
    ],
)
def test_what_an_option_is_by_default(declared, off):
    assert (asked(declared=declared) is not None) is off


@pytest.mark.parametrize(
    ("beside", "off"),
    [
        ({"commands": "python train.py --log-all"}, False),
        ({"commands": "python train.py --log_all \\\n  --more"}, False),
        ({"commands": "python train.py \\\n  # --log-all \\"}, True),
        ({"commands": "python train.py --log-all-of-it"}, True),
        ({"settings": "log_all: true"}, False),
        ({"sweep": 'run(["train.py", "--log-all"])'}, False),
        ({"sweep": "# python train.py --log-all\nimport train"}, False),
        ({"sweep": "x = 1\n# for --log-all, log_all may be set\nimport train"}, True),
        ({"sweep": "args.log_all = True"}, False),
        ({"sweep": "args.log_all = False"}, True),
        ({"sweep": 'run({"log_all": True})'}, False),
        ({"sweep": 'run({"log_all": False})'}, True),
    ],
)
def test_what_else_asks_for_it(beside, off):
    assert (asked(**beside) is not None) is off


def test_a_function_that_is_called_there_is_not_asked():
    assert asked("if args.log_all:\n      def show():") is None


def test_findings_there_are_only_possible(tmp_path):
    (tmp_path / "train.py").write_text(CODE.format(declared=SWITCH, test="if args.log_all:"), encoding="utf-8")
    settings = Settings(confidence=Confidence.POSSIBLE)
    found = [f for f in lint(Target(tmp_path, settings, (tmp_path / "train.py",))).findings if f.code == "TPL101"]
    assert [f.confidence for f in found] == [Confidence.POSSIBLE]
    assert (found[0].why_hot or "").endswith("; only where `args.log_all` is asked for")
