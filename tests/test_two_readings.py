"""Two readings of the same files become one set of labels: only what both would change is wanted."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def precision(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    spec = importlib.util.spec_from_file_location("precision_under_test", BENCHMARKS / "precision.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def test_a_place_is_wanted_where_both_readers_want_it(precision):
    def site(line, code, label, end=None):
        return precision.Site(("owner/name", "a.py"), line, end or line, code, label, True)

    first = [site(10, "TPL101", "TP", 12), site(20, "TPL101", "TP"), site(30, "TPL201", "TP"), site(40, "TPL301", "TP")]
    second = [
        site(11, "TPL119", "TP"),  # another code of the same family, on one of its lines
        site(20, "TPL101", "BORDERLINE"),
        site(30, "TPL652", "TP"),  # the same line, for another reason
        site(50, "TPL101", "TP"),
    ]
    labels = [(s.line, s.code, s.label) for s in precision.agreed(first, second)]
    assert labels == [
        (10, "TPL101", "TP"),
        (20, "TPL101", "BORDERLINE"),
        (30, "TPL201", "BORDERLINE"),
        (40, "TPL301", "BORDERLINE"),
        (30, "TPL652", "BORDERLINE"),
        (50, "TPL101", "BORDERLINE"),
    ]
