"""Helpers that move whatever they are given: modules once, batches each step."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.copies.modules_given import only_others_give_modules, takes_modules
from torchperf_lint.facts.files.project import Project

CODE = """
def set_gpu(args):
    return args.cuda()

def set_device(args):
    if isinstance(args, dict):
        return {key: set_gpu(args[key]) for key in args}
    return set_gpu(args)

def train(net: nn.Module, teacher: nn.Module, loader, optimizer):
    BEFORE
    for x, y in loader:
        STEP
        net(x).sum().backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("before", "step", "module", "others"),
    [
        ("net = set_device(net)", "x = set_device(x)", True, True),
        ("net = set_gpu(net)", "x = set_gpu(x)", True, True),
        ("net = set_device(net)", "teacher = set_device(teacher)", True, False),
        ("pass", "net = set_device(net)", True, False),
        ("pass", "x = set_device(x)", False, False),
        ("net = set_device(net)", "print(x)", True, False),
    ],
)
def test_what_comes_to_a_helper(before, step, module, others):
    project = Project.of_texts(texts(CODE.replace("BEFORE", before).replace("STEP", step)))
    key = FunctionKey("a.py", 1)
    assert takes_modules(project, key, "args") is module
    assert only_others_give_modules(project, key, "args") is others
