"""Which branches run only while a module is evaluated."""

from __future__ import annotations

import ast

import pytest
from snippets import hot_at

from torchperf_lint.facts.outlines.modes import evaluation_follows, in_evaluation


@pytest.mark.parametrize(
    ("test", "body", "otherwise"),
    [
        ("self.training", False, True),
        ("not self.training", True, False),
        ("not self.training and self.counts is not None", True, False),
        ("self.training or self.counts is None", False, True),
        ("self.training and self.drops", False, False),
        ("not self.training or self.drops", False, False),
        ("not (self.training or self.drops)", True, False),
        ("is_training", False, True),
        ("self.drops", False, False),
        ("self.training is None", False, False),
        ("status == 'val'", True, False),
        ("self.split != 'test'", False, True),
        ("phase == 'train'", False, True),
        ("phase == 'warmup'", False, False),
        ("name == 'test'", False, False),
        ("is_val", True, False),
        ("not self.is_test_step", False, True),
        ("runner.is_valid_loader", True, False),
        ("runner.is_train_loader", False, True),
        ("is_valid", False, False),
        ("is_test_time_augmented", False, False),
        ("runner.loader_key in self._valid_loaders", True, False),
        ("runner.loader_key == self.train_loader", False, True),
        ("x in self.valid_loaders", False, False),
        ("key in self.values", False, False),
        ("status == 'val' and self.shown", True, False),
    ],
)
def test_which_branches_of_a_test_run_in_evaluation_only(test, body, otherwise):
    assert in_evaluation(ast.parse(test, mode="eval").body) == (body, otherwise)


@pytest.mark.parametrize(
    ("statement", "follows"),
    [
        ("if self.training:\n    loss = f(x)\n    return loss", True),
        ("if not self.training:\n    return x", False),
        ("if self.training:\n    loss = f(x)", False),
        ("if self.training:\n    return x\nelse:\n    y = x", False),
        ("return x", False),
    ],
)
def test_what_evaluation_alone_comes_to(statement, follows):
    assert evaluation_follows(ast.parse(statement).body[0]) is follows


FORWARD = """
    class Net(nn.Module):
        def forward(self, x):
            {0}

        def errors(self, x):
            print(x)  # <-
"""


@pytest.mark.parametrize(
    ("calls", "evaluates"),
    [
        ("if not self.training:\n                self.errors(x)", True),
        ("if self.training:\n                return x\n            self.errors(x)", True),
        ("y = self.errors(x) if not self.training else None", True),
        ("y = None if self.training else self.errors(x)", True),
        ("if self.training:\n                self.errors(x)", False),
        ("if not self.training:\n                self.errors(x)\n            self.errors(x)", False),
    ],
)
def test_a_function_that_only_evaluation_calls_is_hot_in_evaluation(calls, evaluates):
    hot = hot_at(FORWARD.format(calls))
    assert hot is not None
    assert (hot.kind, hot.evaluates) == ("forward", evaluates)


def test_a_line_in_such_a_branch_is_hot_in_evaluation():
    code = """
        class Net(nn.Module):
            def forward(self, x):
                if not self.training:
                    print(x)  # <-
                return x
    """
    hot = hot_at(code)
    assert hot is not None
    assert hot.evaluates


def test_the_loop_that_trains_is_not_told_to_evaluate():
    code = """
        class Criterion(nn.Module):
            def zero(self, x):
                if not self.training:
                    print(x)  # <-
                return x

        def train(model, criterion: Criterion, loader, optimizer):
            for x in loader:
                loss = criterion.zero(model(x))
                loss.backward()
                optimizer.step()
    """
    hot = hot_at(code)
    assert hot is not None
    assert hot.when.startswith("every evaluation batch (in training called from `for x in loader`")
