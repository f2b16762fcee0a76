"""What one of many callers runs every step is only possibly hot."""

from __future__ import annotations

import pytest
from snippets import hot_at

from torchperf_lint.model import Confidence

TRAINS = """
    def largest(x):
        return x.max().item()  # <-

    def normalized(x):
        return x / largest(x)

    def train(model, loader, optimizer):
        for x in loader:
            loss = model(normalized(x)).mean()
            loss.backward()
            optimizer.step()
"""
COLD = """
    def plot_{0}(x):
        show(largest(x))
"""


@pytest.mark.parametrize(("others", "doubted"), [(0, False), (1, False), (2, True)])
def test_half_of_the_calls_have_to_be_hot(others, doubted):
    hot = hot_at(TRAINS + "".join(COLD.format(number) for number in range(others)))
    assert hot is not None
    assert (hot.confidence is Confidence.POSSIBLE) is doubted


def test_calls_of_tests_do_not_count():
    tests = "from a import largest\n\n" + "".join(f"def test_{n}():\n    largest(n)\n\n" for n in range(5))
    hot = hot_at({"tests/test_a.py": tests, "a.py": TRAINS})
    assert hot is not None
    assert hot.confidence is not Confidence.POSSIBLE


def test_what_the_loop_itself_calls_is_hot_whoever_else_calls_it():
    calls = "".join(COLD.format(number).replace("largest", "normalized") for number in range(4))
    hot = hot_at(TRAINS.replace("  # <-", "").replace("x / largest(x)", "x / largest(x)  # <-") + calls)
    assert hot is not None
    assert hot.confidence is not Confidence.POSSIBLE


def test_a_loop_in_the_function_itself_needs_no_callers():
    calls = "".join(COLD.format(number) for number in range(4))
    loop = TRAINS.replace("return x.max().item()  # <-", "return x")
    inside = loop.replace("optimizer.step()", "optimizer.step()\n            print(loss.item())  # <-")
    hot = hot_at(inside + calls)
    assert hot is not None
    assert hot.confidence is not Confidence.POSSIBLE


def test_what_the_loop_does_now_and_then_is_no_other_caller():
    rare = """            if step % 100 == 0:
                show(normalized(x), normalized(x * 2), normalized(x * 3))
"""
    twice = TRAINS.replace("for x in loader", "for step, x in enumerate(loader)") + rare
    hot = hot_at(twice)
    assert hot is not None
    assert hot.confidence is not Confidence.POSSIBLE


MERGES = """
    class Adapted(nn.Linear):
        def pad(self, x):
            return x.max().item()  # <-

        def product(self):
            return self.pad(self.a @ self.b)

        def {switch}:
            if self.merged:
                self.weight.data -= self.product()
            else:
                self.weight.data += self.product()

        def forward(self, x):
            return F.linear(x, self.product())
    """


@pytest.mark.parametrize(("switch", "doubted"), [("train(self, mode=True)", False), ("fold(self, mode=True)", True)])
def test_what_a_module_does_when_its_mode_is_switched_is_no_other_caller(switch, doubted):
    hot = hot_at(MERGES.format(switch=switch))
    assert hot is not None
    assert (hot.confidence is Confidence.POSSIBLE) is doubted
