"""What calls spread, where it is written down."""

from __future__ import annotations

import ast

import pytest
from calls_in import site_of

from torchperf_lint.facts.loaders.spread_arguments import each_written_out, spreads_keyword, written_out

CALL = "make(data, **params)"
HELD = "make(data, **self.params)"


def told(snippet, call=CALL):
    site = site_of(snippet, call)
    return ast.unparse(written_out(site.file.project.values, site.call, site.frame))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("params = {'num_workers': 8, 'shuffle': True}", "make(data, num_workers=8, shuffle=True)"),
        ("params = dict(num_workers=8)", "make(data, num_workers=8)"),
        ("params = {}", "make(data)"),
        ("params = {key: 8}", CALL),
        ("params = dict(other)", CALL),
        ("params = {**other}", CALL),
        ("params = {'num_workers': 8} if key else {}", CALL),
        ("params = {'num_workers': 8}\n    params['pin_memory'] = True", CALL),
        ("params = {'num_workers': 8}\n    params.update(other)", CALL),
        ("params = {'num_workers': 8}\n    if key:\n        params = other", CALL),
    ],
)
def test_a_name(body, expected):
    assert told(f"def f(data, other, key):\n    {body}\n    return {CALL}") == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("params = {'num_workers': 8} if key else {}", ["make(data, num_workers=8)", "make(data)"]),
        ("params = {}\n    if key:\n        params = {'num_workers': 8}", ["make(data)", "make(data, num_workers=8)"]),
        ("params = {}\n    if key:\n        params = other", [CALL]),
        ("params = {}\n    if key:\n        params = {'num_workers': 8}\n    params.update(other)", [CALL]),
    ],
)
def test_each_way_that_branches_leave(body, expected):
    site = site_of(f"def f(data, other, key):\n    {body}\n    return {CALL}", CALL)
    ways = each_written_out(site.file.project.values, site.call, site.frame)
    assert sorted(map(ast.unparse, ways)) == sorted(expected)


def test_of_a_parameter_nothing_is_known_and_of_the_module_what_stands_there():
    assert told(f"def f(data, params):\n    return {CALL}") == CALL
    assert told(f"params = {{'num_workers': 8}}\n\ndef f(data):\n    return {CALL}") == "make(data, num_workers=8)"


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("pass", "make(data, num_workers=8)"),
        ("self.params = other", HELD),
        ("self.params['shuffle'] = other", HELD),
        ("self.params.pop('num_workers')", HELD),
    ],
)
def test_an_attribute(more, expected):
    snippet = f"""
    class Loaders:
        def __init__(self, data):
            self.params = {{"num_workers": 8}}
            {HELD}

        def change(self, other):
            {more}
    """
    assert told(snippet, HELD) == expected


def test_a_keyword_that_cannot_be_written_beside_what_is_spread():
    site = site_of(
        "def f(data):\n    params = {'pin_memory': False}\n    return make(data, shuffle=True, **params)",
        "make(data, shuffle=True, **params)",
    )
    asked = [
        spreads_keyword(site.file.project.values, site.call, name, site.frame) for name in ("pin_memory", "shuffle")
    ]
    assert asked == [True, False]
