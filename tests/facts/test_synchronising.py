"""Which calls take a time, so that a wait before them is wanted."""

from __future__ import annotations

import time

import pytest

from torchperf_lint.facts.synchronising import _takes_a_time


@pytest.mark.parametrize(
    ("callee", "takes"),
    [
        ("profiler.tick", True),
        ("self.step_profiler.start", True),
        ("stopwatch.lap", True),
        ("self.timer.toc", True),
        ("time.perf_counter", True),
        ("profiler.step", False),
        ("timer.setup", False),
        ("somestopwatch.lap", False),
        ("profiler", False),
    ],
)
def test_which_methods_take_a_time(callee, takes):
    assert _takes_a_time(callee) is takes


def test_a_long_name_is_searched_in_one_go():
    started = time.process_time()
    assert not _takes_a_time("_" * 20_000 + ".step")
    assert time.process_time() - started < 0.5
