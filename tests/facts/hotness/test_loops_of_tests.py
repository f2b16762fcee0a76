"""A loop in a test says nothing of how often what it tests runs."""

from __future__ import annotations

import pytest

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.project import Project

LOOP = """{imports}
from prober import probe


def check(model, loader, optimizer):
    for x in loader:
        loss = model(x)
        loss.backward()
        optimizer.step()
        probe(loss)
"""
PROBER = "def probe(loss):\n    print(loss.item())\n"


@pytest.mark.parametrize(
    ("path", "imports", "hot"),
    [
        ("train.py", "", True),
        ("train.py", "from unittest import mock", True),
        ("tools/test_net.py", "", True),
        ("tests/check_net.py", "", False),
        ("pkg/test/check_net.py", "", False),
        ("test_net.py", "import pytest", False),
        ("test_net.py", "import unittest", False),
    ],
)
def test_a_loop_of_a_test_is_no_reason_for_what_it_calls(path, imports, hot):
    project = Project.of_texts({"prober.py": PROBER, path: LOOP.format(imports=imports)})
    assert (FunctionKey("prober.py", 1) in project.hotness.functions) is hot


def test_it_is_one_for_what_tests_share():
    texts = {"tests/prober.py": PROBER, "tests/check.py": LOOP.format(imports="").replace("prober", "tests.prober")}
    assert FunctionKey("tests/prober.py", 1) in Project.of_texts(texts).hotness.functions
