"""Tensors that a test shows to be one number."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import hot_nodes
from torchperf_lint.facts.indexing.compared_as_one import is_compared_as_one

CODE = """
    class Net(nn.Module):
        def forward(self, x, labels):
            x = self.net(x.cuda())
            return [self.one(x[i], labels{given}) for i in range(len(x))]

        def one(self, x, label):
            {made}
            {tested}
            return x[{index}]
"""


def shown(index, tested, made="_, best = x.max(0)", given="[i]"):
    files = texts(CODE.format(index=index, tested=tested, made=made, given=given))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    spots = [s for s in hot_nodes(file, ast.Subscript) if ast.unparse(s.expression) == f"x[{index}]"]
    return is_compared_as_one(file, spots[-1], spots[-1].expression.slice)


@pytest.mark.parametrize("index", ["label", "best"])
@pytest.mark.parametrize(
    "tested",
    ["if best != label: return x", "x = x if best < label else -x", "assert not best == label"],
)
def test_a_test_has_one_answer(index, tested):
    assert shown(index, tested)


@pytest.mark.parametrize(
    "tested",
    ["x = x * (best != label)", "if (best != label).any(): return x", "if best is label: return x", "pass"],
)
def test_no_test_decides(tested):
    assert not shown("best", tested)


@pytest.mark.parametrize("made", ["_, best = x.max(1)", "best = x.argmax(1)", "_, best = x.max(0, keepdim=True)"])
def test_one_number_may_have_a_dimension(made):
    assert not shown("best", "if best != label: return x", made)


def test_a_row_is_no_element():
    assert not shown("label", "if best != label: return x", given="[i : i + 1]")


def test_another_binding_was_tested():
    assert not shown("best", "if best != label: return x\n            _, best = x.max(1)")


def test_a_constant_of_the_module_is_given_by_nobody():
    """As in tabpfn, where a parameter is compared with it."""
    assert not shown("LIMIT", "if LIMIT < label: return x")
