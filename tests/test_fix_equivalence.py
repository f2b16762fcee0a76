"""Fixed programs give the numbers they gave before, on the host and on the simulated device, which waits less often.

The programs come from `tests/fixes/<code>.py`, one generator a rule; see `tests/fixes/programs.py` for how to add one.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest
from fake_rules import ENVIRONMENT
from fixing import fixed
from hypothesis import HealthCheck, given, settings

pytest.importorskip("torch")
from fix_runs import numbers

HERE = Path(__file__).parent
CODES = sorted(path.stem.upper() for path in (HERE / "fixes").glob("tpl*.py"))
EXAMPLES = 30
EDITS = 100
SECONDS = 300


class Case(NamedTuple):
    """One program, before and after."""

    before: str
    after: str
    edits: int


class Rule(NamedTuple):
    """The programs of one rule that its fixes change."""

    code: str
    cases: tuple[Case, ...]

    @property
    def generator(self):
        return import_module(f"fixes.{self.code.lower()}")

    @property
    def unsafe(self):
        return getattr(self.generator, "UNSAFE", False)

    def same(self, one, other):
        """Whether two lists of numbers are: exactly, for a safe fix."""
        if not self.unsafe:
            return one == other
        return len(one) == len(other) and all(
            type(a) is type(b) and math.isclose(a, b, rel_tol=1e-5) for a, b in zip(one, other, strict=True)
        )


def texts_of(generator):
    """Some programs, the same in every run."""
    found: dict[str, None] = {}

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(generator.programs())
    def collect(text):
        found[text] = None

    collect()
    return list(found)


@cache
def rule_of(code):
    """A rule's programs, fixed."""
    made = Rule(code, ())
    cases = []
    for text in texts_of(made.generator):
        done = fixed(text, code, made.unsafe)
        assert done.report.problems == (), text
        edits = sum(len(finding.fix.edits) for finding in done.report.fixed)
        cases.append(Case(text, done.text, edits))
    return made._replace(cases=tuple(case for case in cases if case.edits))


@pytest.fixture(scope="module", params=CODES)
def rule(request):
    return rule_of(request.param)


@pytest.fixture(scope="module")
def on_devices(request, tmp_path_factory):
    """Code -> numbers and events of every case, before and after, on the simulated device: one process for all."""
    asked = {item.callspec.params["rule"] for item in request.session.items if item.path == Path(__file__)}
    cases = [(code, case) for code in sorted(asked) for case in rule_of(code).cases]
    directory = tmp_path_factory.mktemp("fixes")
    (directory / "in.json").write_text(json.dumps([[case.before, case.after] for _, case in cases]))
    command = [sys.executable, str(HERE / "fix_runs.py"), str(directory / "in.json"), str(directory / "out.json")]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads((directory / "out.json").read_text())
    return {code: [seen for (c, _), seen in zip(cases, told, strict=True) if c == code] for code in asked}


@pytest.fixture
def on_a_device(rule, on_devices):
    return on_devices[rule.code]


def test_there_are_enough_edits(rule):
    assert sum(case.edits for case in rule.cases) >= EDITS


def test_the_numbers_are_the_same_on_the_host(rule):
    for case in rule.cases:
        before, after = numbers(case.before), numbers(case.after)
        assert before, case.before
        assert rule.same(before, after), f"{before}\n{after}\n{case.before}\n-->\n{case.after}"


def test_the_numbers_are_the_same_on_a_device(rule, on_a_device):
    for case, (before, after) in zip(rule.cases, on_a_device, strict=True):
        assert rule.same(before["numbers"], after["numbers"]), f"{case.before}\n-->\n{case.after}"


def test_the_device_has_less_to_wait_for(rule, on_a_device):
    kind, more = getattr(rule.generator, "FEWER", None), set(getattr(rule.generator, "MORE", ()))
    for case, (before, after) in zip(rule.cases, on_a_device, strict=True):
        shown = f"{before['events']}\n{after['events']}\n{case.before}\n-->\n{case.after}"
        grown = {name for name, count in after["events"].items() if count > before["events"].get(name, 0)}
        assert grown <= more, shown
        if kind is not None:
            assert after["events"].get(kind, 0) < before["events"].get(kind, 0), shown


def test_what_else_must_hold(rule):
    check = getattr(rule.generator, "check", None)
    for case in rule.cases:
        if check is not None:
            check(case.before, case.after)
        again = fixed(case.after, rule.code, rule.unsafe)
        assert again.text == case.after
