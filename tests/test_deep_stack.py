"""Room for what recurses deeper than Python lets it, given back afterwards."""

from __future__ import annotations

import sys
import threading

import pytest

from torchperf_lint.deep_stack import with_a_deep_stack


def nested(depth: int) -> int:
    return 1 + nested(depth - 1) if depth else 0


def test_there_is_room_while_the_work_lasts():
    limit, size = sys.getrecursionlimit(), threading.stack_size()
    assert with_a_deep_stack(lambda: nested(10 * limit)) == 10 * limit
    assert (sys.getrecursionlimit(), threading.stack_size()) == (limit, size)


def test_what_the_work_raises_is_raised():
    with pytest.raises(ZeroDivisionError):
        with_a_deep_stack(lambda: 1 // 0)
    with pytest.raises(KeyboardInterrupt):
        with_a_deep_stack(lambda: (_ for _ in ()).throw(KeyboardInterrupt))


def test_where_there_is_no_room_the_work_is_done_all_the_same(monkeypatch):
    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    limit = sys.getrecursionlimit()
    monkeypatch.setattr(threading.Thread, "start", refused)
    assert with_a_deep_stack(lambda: nested(3)) == 3
    assert sys.getrecursionlimit() == limit
