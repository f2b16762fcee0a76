"""Branches that leave it to other code to keep what their test found missing."""

from __future__ import annotations

import pytest
from snippets import hot_at

from torchperf_lint.facts.outlines import filled_elsewhere
from torchperf_lint.facts.outlines.outline import outline

ESTIMATOR = """
class Estimator(nn.Module):
    def __init__(self):
        self.losses = None

    def forward(self, x):
        if {test}:
            {call}
        return x + self.losses.sum()

    def search(self, x):
        self.most = x.max().item()  # <-
        self.{kept}
        return x

    def other(self, x):
        self.seen = x
"""


@pytest.mark.parametrize(
    ("test", "call", "kept", "often"),
    [
        ("self.losses is None", "self.search(x)", "losses = x * 0", False),
        ("not hasattr(self, 'losses')", "self.search(x)", "losses = x * 0", False),
        ("self.losses is None", "y = self.search(x)", "losses = x * 0", False),
        ("self.losses is None", "self.search(x)", "others = x * 0", True),
        ("self.losses is None", "self.search(x)", "losses = None", True),
        ("self.training", "self.search(x)", "losses = x * 0", True),
        ("self.losses is not None", "self.search(x)", "losses = x * 0", True),
        ("self.losses is None", "self.search(x)", "losses: Tensor = x * 0", False),
        ("self.losses is None", "self.search(x)", "losses = x if self.most > 3 else None", True),
        ("not self.losses", "self.search(x)", "losses = True", False),
        ("not self.losses", "self.search(x)", "losses = self.most < 1", True),
        ("not self.losses", "self.search(x)", "losses = x.tolist()", True),
        ("not getattr(self, 'losses', None)", "self.search(x)", "losses = x.tolist()", True),
        ("len(self.losses) == 0", "self.search(x)", "losses = x.tolist()", True),
    ],
)
def test_a_method_keeps_what_its_caller_found_missing(test, call, kept, often):
    hot = hot_at(ESTIMATOR.format(test=test, call=call, kept=kept))
    assert (hot is not None) is often


def test_a_method_of_a_branch_that_is_not_always_called_keeps_nothing():
    call = "y = [self.search(x) for _ in range(3)]"
    assert hot_at(ESTIMATOR.format(test="self.losses is None", call=call, kept="losses = x * 0")) is not None


def test_what_the_function_drops_again_is_made_again():
    code = ESTIMATOR.format(test="self.losses is None", call="self.search(x)", kept="losses = x * 0")
    assert hot_at(code.replace("return x + self.losses.sum()", "self.losses = None")) is not None


@pytest.mark.parametrize(
    ("last", "often"),
    [
        ("with torch.no_grad(): self.losses = x * 0", False),
        ("if self.losses is None: self.losses = x * 0", False),
        ("if self.most < 1: self.losses = x * 0", True),
        ("for row in x: self.losses = row", True),
        ("if self.most < 1: return x\n        self.losses = x * 0", True),
        ("yield x\n        self.losses = x * 0", True),
    ],
)
def test_a_method_has_to_keep_it_come_what_may(last, often):
    code = ESTIMATOR.format(test="self.losses is None", call="self.search(x)", kept="losses = x * 0")
    assert (hot_at(code.replace("self.losses = x * 0", last)) is not None) is often


@pytest.mark.parametrize(
    ("test", "kept", "other", "often"),
    [
        ("self.losses is None", "x * 0", "self.losses = x", False),
        ("self.losses is None", "x * 0", "self.losses = None", True),
        ("self.losses is None", "x * 0", "self.losses: Tensor | None = None", True),
        ("self.losses is None", "x * 0", "self.seen, self.losses = x, None", True),
        ("self.losses is None", "x * 0", "x.losses = None", True),
        ("not hasattr(self, 'losses')", "x * 0", "del self.losses", True),
        ("not hasattr(self, 'losses')", "x * 0", "delattr(self, 'losses')", True),
        ("not self.losses", "True", "self.losses = False", True),
        ("not self.losses", "True", "self.losses &= x.is_contiguous()", True),
    ],
)
def test_what_other_code_drops_is_made_again(test, kept, other, often):
    code = ESTIMATOR.format(test=test, call="self.search(x)", kept=f"losses = {kept}")
    assert (hot_at(code.replace("self.seen = x", other)) is not None) is often


def test_a_call_behind_a_way_out_of_the_branch_keeps_nothing():
    call = "if x.training: return x\n            self.search(x)"
    assert hot_at(ESTIMATOR.format(test="self.losses is None", call=call, kept="losses = x * 0")) is not None


LINEAR = """
class Linear(nn.Module):
    def forward(self, x):
        if not hasattr(self, "weight"):
            weight = self.recover()
        {behind}
        return x @ self.weight

    def recover(self):
        return torch.zeros(self.rows).to(self.scales.device)  # <-
"""


@pytest.mark.parametrize(
    ("behind", "often"),
    [
        ("self.weight = weight", False),
        ("if not hasattr(self, 'weight'): self.weight = weight", False),
        ("self.other = weight", True),
        ("self.weight = x", True),
        ("return x @ weight", True),
        ("if self.training: self.weight = weight", True),
        ("if self.training: return x\n        self.weight = weight", True),
        ("self.weight = weight\n        del self.weight", True),
    ],
)
def test_what_a_branch_makes_is_kept_further_down(behind, often):
    assert (hot_at(LINEAR.format(behind=behind)) is not None) is often


def test_a_plain_flag_that_takes_what_a_branch_makes_may_be_empty_again():
    code = LINEAR.format(behind="self.weight = weight")
    assert hot_at(code.replace('not hasattr(self, "weight")', "not self.weight")) is not None


MANY = """
class Many(nn.Module):
    def forward(self, x):
{branches}
        return x

    def search(self, x):
{kept}
"""


def test_many_branches_read_each_function_once(monkeypatch):
    read = []
    plain = filled_elsewhere._read
    monkeypatch.setattr(filled_elsewhere, "_read", lambda body: read.append(body) or plain(body))
    branch = "        if self.a{0} is None:\n            w{0} = x\n            self.search(x)"
    branches = "\n".join(branch.format(number) for number in range(50))
    kept = "\n".join(f"        self.a{number} = x" for number in range(50))
    outline("a.py", MANY.format(branches=branches, kept=kept))
    assert len(read) == 2


PROBE = """
class Probe(nn.Module):
    def __init__(self):
        self.due = False

    def forward(self, x):
        if not self.due:
            return x
        print(x.max().item())  # <-
        self.due = False
        return x
"""


def test_a_flag_that_is_taken_down_may_be_raised_in_each_step():
    assert hot_at(PROBE) is not None
