"""Functions that keep what they make: the rest of the block after the answer runs once for each key."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from torchperf_lint.facts.outlines.memo import kept_after, makes_what_it_keeps

KEPT = [
    "if n in self.grids: return self.grids[n]\nmade = f(n)\nself.grids[n] = made",
    "if n in self.grids:\n    log()\n    return self.grids[n].x\nself.grids[n] = f(n)",
    "if self.grid is not None and self.n == n: return self.grid\nself.grid = f(n)",
    "if known is not None: return known\nself._cache[n] = f(n)",
    "if getattr(self, 'ready', False): return\nself.window = f(n)\nself.ready = True",
    "global DONE\nif DONE: return 3\nwith lock:\n    try:\n        return probe()\n    finally:\n        DONE = True",
    "nonlocal done\nif done: return\nprobe()\ndone = True",
    "if self.ready: return self.kernel\nself.kernel = probe()\nself.ready = True",
    "if cache and hasattr(self, 'omega') and self.omega.size(-1) == n: return self.omega\nomega = f(n)\n"
    "if cache:\n    self.omega = omega",
    "if self.train is not None: return self.train\nself.train = f(n)",  # a data set
    "if self._out is not None and self.cached: return self._out\nout = f(n)\nif self.cached:\n    self._out = out",
]
NOT_KEPT = [
    "if hasattr(self, 'omega'): return self.omega\nself.other = f(n)",
    "if hasattr(self, 'omega'): return f(n)\nself.omega = f(n)",
    "global DONE\nif DONE: return KERNEL\nif n > 3:\n    DONE = True",
    "global DONE\nif DONE: return KERNEL\nDONE = False",
    # a parameter, and another variable of the function
    "if skip: return None\nmade = f(n)\nskip = True",
    "global DONE\nif done: return\nmade = f(n)\ndone = True",
    "if self.busy: return\nself.window = f(n)\nself.ready = True",
    "if n in self.special: return self.special[n]\nreturn f(n)",
    "if n in self.special: return 3\nself.special[n] = f(n)",
    "if n in self.special: return self.special[n]\nself.other[n] = f(n)",
    "if mask is not None: return mask\nout[n] = f(n)",
    "if self.grid is None: return self.grid\nself.grid = f(n)",
    # a flag that the answer does not ask says whether it is kept
    "if self._out is not None: return self._out\nout = f(n)\nif self.cached:\n    self._out = out",
    "if cache and self._out is not None: return self._out\nout = f(n)\nif cache and n > 3:\n    self._out = out",
    "if hasattr(self, 'omega'): return self.omega\nomega = f(n)\nif n == 3:\n    self.omega = omega",
    # kept for one mode only
    "if hasattr(self, 'omega') and not self.training: return self.omega\nself.omega = f(n)",
    "if self._out is not None and not self.training: return self._out\nout = f(n)\n"
    "if not self.training:\n    self._out = out",
    "if self.grid is not None and not is_training: return self.grid\nself.grid = f(n)",
    "if n in self.grids:\n    return self.grids[n]\nelse:\n    pass\nself.grids[n] = 1",
]


def blocks(code):
    statements = ast.parse(dedent(code)).body
    for node in ast.walk(ast.Module(statements, [])):
        assert not isinstance(node, ast.FunctionDef)
    first = 1 if isinstance(statements[0], ast.Global | ast.Nonlocal) else 0
    return statements[first], statements[first + 1 :], statements


@pytest.mark.parametrize("code", KEPT)
def test_what_is_put_away_is_made_once(code):
    found = kept_after(*blocks(code))
    assert found is not None and found.kind == "once"


@pytest.mark.parametrize("code", NOT_KEPT)
def test_what_is_not_put_away_is_made_anew(code):
    assert kept_after(*blocks(code)) is None


@pytest.mark.parametrize(
    "code",
    [
        "if c == self.c:\n    w = self.w\nelse:\n    w = f(c)\n    self.w = w\n    self.c = c",
        "if self.w is not None and self.w.shape == x.shape:\n    w = self.w\nelse:\n    w = self.w = f(x)",
        "if c != self.c:\n    self.w = f(c)\n    self.c = c\n    w = self.w\nelse:\n    w = self.w",
        "if self.w.type() == x.type():\n    return self.w\nelse:\n    self.w = f(x)",
    ],
)
def test_a_branch_makes_what_the_other_takes_as_it_was_kept(code):
    node = ast.parse(code).body[0]
    assert makes_what_it_keeps(node.body, node.orelse, node.test) or makes_what_it_keeps(
        node.orelse, node.body, node.test
    )


@pytest.mark.parametrize(
    "code",
    [
        "if c == self.c:\n    w = self.w\nelse:\n    w = f(c)",
        "if self.training:\n    w = self.w\nelse:\n    w = f(c)\n    self.w = w",
        "if self.step == step:\n    w = self.w\nelse:\n    self.w = w = f(c)\n    self.step = step",
        "if step == self.last:\n    w = self.w\nelse:\n    self.w = w = f(c)\n    self.last = step",
        "if c == self.c:\n    w = g(self.w)\nelse:\n    w = f(c)\n    self.c = c",
        "if c == self.c:\n    w = self.w",
    ],
)
def test_other_branches_make_something_in_each_call(code):
    node = ast.parse(code).body[0]
    assert not makes_what_it_keeps(node.orelse, node.body, node.test)
    assert not makes_what_it_keeps(node.body, node.orelse, node.test)
