"""What one of many callers runs every step is only possibly hot."""

from __future__ import annotations

import pytest
from snippets import hot_at

from torchperf_lint.model import Confidence

TRAINS = """
    def normalized(x):
        return x / x.max().item()  # <-

    def train(model, loader, optimizer):
        for x in loader:
            loss = model(normalized(x)).mean()
            loss.backward()
            optimizer.step()
"""
COLD = """
    def plot_{0}(x):
        show(normalized(x))
"""


@pytest.mark.parametrize(("others", "doubted"), [(0, False), (1, False), (2, True)])
def test_half_of_the_calls_have_to_be_hot(others, doubted):
    hot = hot_at(TRAINS + "".join(COLD.format(number) for number in range(others)))
    assert hot is not None
    assert (hot.confidence is Confidence.POSSIBLE) is doubted


def test_calls_of_tests_do_not_count():
    tests = "from a import normalized\n\n" + "".join(f"def test_{n}():\n    normalized(n)\n\n" for n in range(5))
    hot = hot_at({"tests/test_a.py": tests, "a.py": TRAINS})
    assert hot is not None
    assert hot.confidence is not Confidence.POSSIBLE


def test_a_loop_in_the_function_itself_needs_no_callers():
    calls = "".join(COLD.format(number) for number in range(4))
    loop = TRAINS.replace("return x / x.max().item()  # <-", "return x")
    inside = loop.replace("optimizer.step()", "optimizer.step()\n            print(loss.item())  # <-")
    hot = hot_at(inside + calls)
    assert hot is not None
    assert hot.confidence is not Confidence.POSSIBLE
