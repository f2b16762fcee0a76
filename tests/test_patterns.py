"""Every regular expression of the package is one, though it is compiled only when it is asked."""

from __future__ import annotations

import importlib
import pkgutil
import re

import pytest

import torchperf_lint
from torchperf_lint.patterns import pattern

LEAST = 300
"""Patterns that the package has at least, or this test no longer finds them."""


def all_patterns():
    """(where, pattern) for each pattern that is a name of a module, or stands in a tuple or dict that is one."""
    kind = type(pattern("x"))
    for info in pkgutil.walk_packages(torchperf_lint.__path__, "torchperf_lint."):
        if ".probes" in info.name or info.name.endswith((".simulated", "__main__", "pytest_plugin")):
            continue
        for name, value in vars(importlib.import_module(info.name)).items():
            parts = value.values() if isinstance(value, dict) else value if isinstance(value, tuple | list) else [value]
            for part in parts:
                found = [p for p in (part if isinstance(part, tuple) else [part]) if isinstance(p, kind)]
                yield from ((f"{info.name}.{name}", p) for p in found)


def test_all_of_them_compile():
    found = list(all_patterns())
    assert len(found) >= LEAST
    assert [where for where, one in found if one.search(one.pattern[:0]) is NotImplemented] == []


def test_a_pattern_answers_as_a_compiled_one():
    ours, theirs = pattern(r"(?P<a>\w)\d", re.ASCII), re.compile(r"(?P<a>\w)\d", re.ASCII)
    assert ours.groupindex == theirs.groupindex
    assert ours.sub("-", "x1 y2") == theirs.sub("-", "x1 y2")
    assert [m["a"] for m in ours.finditer("x1 y2")] == ["x", "y"]
    assert (ours.fullmatch("x1") is not None, ours.match("1"), ours.findall("x1")) == (True, None, ["x"])
    assert pattern(rb"\d").findall(b"a1") == [b"1"]


def test_a_mistake_shows_at_the_first_question():
    with pytest.raises(re.error):
        pattern("(").search("x")


def test_nothing_else_is_asked():
    with pytest.raises(AttributeError):
        pattern("x").scanner  # noqa: B018
