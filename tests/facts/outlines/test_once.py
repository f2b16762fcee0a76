"""Branches that fill what their test found missing, and those that store it where the test never looks."""

from __future__ import annotations

import ast

import pytest

from torchperf_lint.facts.outlines.filled_names import fills_a_name
from torchperf_lint.facts.outlines.once import may_miss, set_up_once, set_up_otherwise


@pytest.mark.parametrize(
    ("code", "once"),
    [
        ("if key not in cache: cache[key] = make()", True),
        ("if n not in self.grids: self.grids[n] = make()", True),
        ("if str(fmax) not in cache: cache[str(fmax)] = make()", True),
        ("if fmax not in cache: cache[str(fmax) + '_' + str(y.device)] = make()", False),
        ("if fmax not in cache: cache[f'{fmax}_{y.device}'] = make()", False),
        ("if name not in cache: cache[key] = make()", True),
        ("if getattr(self, 'loss', None) is None: self.loss = make()", True),
        ("if getattr(self, 'loss', None) is None: self.other = make()", False),
        ("if getattr(self, name, None) is None: self.loss = make()", False),
        ("if self.dynamic or self.shapes != shapes: self.grid = make(shapes); self.shapes = shapes", True),
        ("if self.shapes != shapes: self.grid = make(shapes)", False),
        ("if self.step != step: self.grid = make(step); self.step = step", False),
        ("if self.last != step: self.grid = make(step); self.last = step", False),
        ("if self.last != t: self.grid = make(t); self.last = t", True),  # a length
        ("if n != self.n_cached: self.grid = make(n); self.n_cached = n", True),
        ("if seqlen > self.kept_len: self.grid = make(seqlen); self.kept_len = seqlen", True),
        ("if loss < self.best: self.grid = make(loss); self.best = loss", False),
        ("if f(n) != self.length: self.grid = make(n); self.length = f(n)", True),
        ("if n + 1 != self.length: self.grid = make(n); self.length = m + 1", False),
        ("if n > self.len or self.grid.device != x.device: self.len = n; self.grid = make(n, x)", True),
        ("if n > self.len or (self.training and self.grid.fixed): self.len = n; self.grid = make(n)", True),
        ("if n > self.len or self.other.device != x.device: self.len = n; self.grid = make(n, x)", False),
        ("if self.cos[0, 0] == 0: self.cos, self.sin = make()", True),
        ("if self.cos[0, 0] == 0: self.cos = make()", True),
        ("if self.cos[0, 0] == 0: self.sin = make()", False),
        ("if self.cos[0, 0] != 0: self.cos = make()", False),
        ("if cos[0, 0] == 0: cos = make()", False),
        ("if self.n == 10: self.n = 0", False),
        ("if self.teacher == 'self': self.teacher = deepcopy(model)", True),
        ("if self.teacher == 'self': self.other = deepcopy(model)", False),
        ("if self.mode == 'train': self.mode = 'test'", False),
        ("if call is not None and key not in CHECKED: CHECKED[key] = call()", True),
        ("if call is not None and key not in CHECKED: checked[key] = call()", False),
        ("if key not in CHECKED:\n  try: CHECKED[key] = call()\n  except E: CHECKED[key] = False", True),
        ("if x is None and y is None: z[0] = make()", False),
    ],
)
def test_what_is_stored_is_found_again(code, once):
    statement = ast.parse(code).body[0]
    assert isinstance(statement, ast.If)
    assert set_up_once(statement) is once
    assert may_miss(ast.parse(code).body[0].test) or not once


@pytest.mark.parametrize(
    ("code", "once"),
    [
        ("bank = None\nfor x in xs:\n    if bank is None: bank = make(x)", True),
        ("bank = None\nfor x in xs:\n    if rank == 0 and bank is None: bank = make(x)", True),
        ("bank = None\nfor x in xs:\n    if bank is None:\n        if a: bank = f(x)\n        else: bank = g(x)", True),
        ("bank = None\nfor x in xs:\n    if bank is None:\n        with no_grad(): bank = f(x)", True),
        (
            "bank = None\nfor x in xs:\n    if bank is None:\n        if a: bank = f(x)\n        else: other = g(x)",
            False,
        ),
        ("bank = None\nif bank is None: bank = make(x)", False),
        ("for x in xs:\n    bank = None\n    if bank is None: bank = make(x)", False),
        ("bank = None\nfor x in xs:\n    if bank is None: bank = make(x)\n    use(bank)\n    del bank", False),
        ("bank = None\nfor x in xs:\n    if rank == 0 or bank is None: bank = make(x)", False),
        ("bank = None\nfor x in xs:\n    if bank is None: other = make(x)", False),
        ("for _ in epochs:\n    bank = None\n    for x in xs:\n        if bank is None: bank = make(x)", True),
    ],
)
def test_a_loop_fills_a_name_in_its_first_turn(code, once):
    body = ast.parse(code).body
    branch = next(node for node in ast.walk(ast.Module(body, [])) if isinstance(node, ast.If))
    assert fills_a_name(branch, body) is once


@pytest.mark.parametrize(
    ("code", "once"),
    [
        ("if 'step' in group: group['step'] += 1\nelse: group['step'] = make()", True),
        ("if self.grid is not None: use(self.grid)\nelse: self.grid = make()", True),
        ("if hasattr(self, 'grid'): use(self.grid)\nelse: self.grid = make()", True),
        ("if n == self.n_cached: use(self.grid)\nelse: self.grid = make(n); self.n_cached = n", True),
        ("if self.grid: use(self.grid)\nelse: self.grid = make()", True),
        ("if 'step' in group: group['step'] += 1\nelse: other['step'] = make()", False),
        ("if 'step' not in group: x = 1\nelse: group['step'] = make()", False),
        ("if 'step' in group: group['step'] = make()", False),
        ("if x > 3: y = 1\nelse: x = make()", False),
    ],
)
def test_what_the_other_branch_fills(code, once):
    statement = ast.parse(code).body[0]
    assert isinstance(statement, ast.If)
    assert set_up_otherwise(statement) is once


@pytest.mark.parametrize("test", ["flag", "mode == 'fast'", "n is not None", "n > 3", "isinstance(x, list)"])
def test_what_finds_nothing_missing_is_asked_no_further(test):
    assert not may_miss(ast.parse(test, mode="eval").body)
