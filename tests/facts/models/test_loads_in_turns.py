"""Objects whose constructor loads a model, made for each input."""

from __future__ import annotations

import pytest

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.models.loads_in_turns import loads_in_turns

_HEAD = """\
import torch
from transformers import AutoModel

class Depth:
    def __init__(self, kind="depth"):
        self.net = Net()
        self.net.load_state_dict(torch.load("depth.pt"))

    def __call__(self, x):
        return self.net(x)

class Words:
    def __init__(self):
        self.net = AutoModel.from_pretrained("a/b")

class Plain:
    def __init__(self):
        self.net = Net()

"""
MEASURE = "def measure(path):\n    {}\n\n{}\n"
EACH = "for path in paths:\n    measure(path)"


def _count(code: str) -> int:
    text = _HEAD + code
    return len(list(loads_in_turns(SourceFile(Project.of_texts({"a.py": text}), "a.py", text))))


@pytest.mark.parametrize(
    ("made", "count"),
    [
        ("return Depth()(path)", 1),
        ("d = Depth(kind='normal')\n    y = d(path)\n    del d\n    return y", 1),
        ("w = Words()\n    return w.answer(path)", 1),
        ("return Plain()(path)", 0),
        ("return Depth(path)(path)", 0),
        ("return Depth()", 0),
        ("d = Depth()\n    keep.append(d)", 0),
        ("d = Depth()\n    d.fit(path)", 0),
        ("if path.endswith('x'):\n        return Depth()(path)", 0),
    ],
)
def test_what_a_function_makes_that_a_loop_calls(made, count):
    assert _count(MEASURE.format(made, EACH)) == count


@pytest.mark.parametrize(
    ("calls", "count"),
    [
        (EACH, 1),
        ("measure('a')", 0),
        ("for name in ['a', 'b']:\n    measure(name)", 0),
        ("for seed in seeds:\n    measure(seed)", 0),
        ("for path in paths:\n    if path:\n        measure(path)", 0),
    ],
)
def test_which_loops_take_a_turn_for_each_input(calls, count):
    assert _count(MEASURE.format("return Depth()(path)", calls)) == count


def test_what_a_loop_makes_itself():
    assert _count("def f(paths):\n    for path in paths:\n        d = Depth()\n        print(d(path))\n") == 1
