"""Wrappers that come off again before the module runs."""

from __future__ import annotations

from textwrap import indent

import pytest

from torchperf_lint.facts.models.wrapping import taken_off_again
from torchperf_lint.facts.outlines.outline import outline

OFF = {
    "bound again": "m = DataParallel(m)\nm.load_state_dict(s)\nm = m.module",
    "returned": "m = DataParallel(m)\nm.load_state_dict(s)\nreturn m.module",
    "with a file": "w = nn.DataParallel(m)\nw.load_state_dict(torch.load(p))\nprint(p)\nreturn w.module",
    "at once": "m = DataParallel(m).module",
    "for one call": "DataParallel(m).load_state_dict(s)",
}
ON = {
    "kept": "m = DataParallel(m)\nreturn m",
    "handed on": "m = DataParallel(m)\ntrain(m)\nm = m.module",
    "called": "m = DataParallel(m)\ny = m(x)\nm = m.module",
    "trained in a loop": "m = DataParallel(m)\nfor x in xs:\n    m.step(x)\nm = m.module",
    "another name": "m = DataParallel(m)\nn = m.module\nreturn m",
    "only sometimes returned bare": "m = DataParallel(m)\nif a:\n    return m.module\nreturn m",
    "not bound": "return DataParallel(m)",
    "moved": "m = DataParallel(m).cuda()\nreturn m",
}


def wrapped(body):
    found = outline("a.py", "def f(m, s, p, xs, a, x):\n" + indent(body, "    ") + "\n")
    (call,) = [c for c in found.calls if c.callee.endswith("DataParallel")]
    return taken_off_again(found, call)


@pytest.mark.parametrize("body", OFF.values(), ids=OFF)
def test_comes_off(body):
    assert wrapped(body)


@pytest.mark.parametrize("body", ON.values(), ids=ON)
def test_stays_on(body):
    assert not wrapped(body)
