"""Which calls of a framework's trainer make ordinary runs, and what their literal arguments say."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.processes.framework_runs import is_ordinary, is_trial, small


def call(text: str) -> ast.Call:
    node = ast.parse(text, mode="eval").body
    assert isinstance(node, ast.Call)
    return node


def test_true_is_no_number():
    assert small(1, 1)
    assert not small(True, 1)
    assert not small(2, 1)
    assert not small(0, 1)
    assert not small(0.5, 1)


TRIALS = ["fast_dev_run=True", "overfit_batches=0.1", "max_steps=20", "limit_train_batches=3", "use_cpu=True"]
RUNS = ["fast_dev_run=False", "overfit_batches=0", "max_steps=-1", "max_steps=10_000", "limit_train_batches=1.0", "a=b"]


@pytest.mark.parametrize("arguments", [*TRIALS, "accelerator='cpu'", "no_cuda=True", "barebones=True"])
def test_a_run_to_try_something_out(arguments):
    assert is_trial(call(f"Trainer({arguments})"))


@pytest.mark.parametrize("arguments", [*RUNS, "accelerator='gpu'", "fast_dev_run=args.fast", "**args"])
def test_a_run_that_is_meant(arguments):
    assert not is_trial(call(f"Trainer({arguments})"))


@pytest.mark.parametrize(
    ("path", "snippet", "expected"),
    [
        ("train.py", "import lightning as L\nL.Trainer()", True),
        ("train.py", "import lightning as L\ndef main():\n    L.Trainer()", True),
        ("train.py", "import lightning as L\nif args.slow:\n    L.Trainer()", False),
        ("train.py", "import lightning as L\ndef offered():\n    L.Trainer()", False),
        ("tests/train.py", "import lightning as L\nL.Trainer()", False),
        ("profile_training.py", "import lightning as L\nL.Trainer()", False),
        ("src/debug.py", "import lightning as L\nL.Trainer()", False),
        ("src/contest.py", "import lightning as L\nL.Trainer()", True),
        ("src/profiles.py", "import lightning as L\nL.Trainer(max_steps=3)", False),
    ],
)
def test_ordinary_runs(path, snippet, expected):
    files = texts({path: snippet})
    (site,) = SourceFile(Project.of_texts(files), path, files[path]).calls_of("lightning.Trainer")
    assert is_ordinary(site) is expected
