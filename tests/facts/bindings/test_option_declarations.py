"""How programs declare options."""

from __future__ import annotations

import ast

import pytest

from torchperf_lint.facts.bindings.option_declarations import default, flag, flags, option_named


def call(text):
    return ast.parse(text, mode="eval").body


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("args.workers", "workers"),
        ("self.args.workers", "workers"),
        ("FLAGS.workers", "workers"),
        ("train_cfg.workers", "workers"),
        ("loader.workers", ""),
        ("workers", ""),
        ("args", ""),
    ],
)
def test_what_may_be_an_option(written, name):
    assert option_named(call(written)) == name


@pytest.mark.parametrize(
    ("declaration", "value"),
    [
        ("p.add_argument('--n', default=2)", "2"),
        ("p.add_argument('--n', action='store_true')", "False"),
        ("p.add_argument('--n', action='store_false')", "True"),
        ("p.add_argument('--n', action='store_true', default=None)", "None"),
        ("flags.DEFINE_integer('n', 3, 'how many')", "3"),
    ],
)
def test_what_an_option_is_unless_somebody_asks(declaration, value):
    assert ast.unparse(default(call(declaration))) == value


@pytest.mark.parametrize(
    "declaration", ["p.add_argument('--n')", "p.add_argument('--n', action=Some)", "flags.DEFINE_integer('n')"]
)
def test_an_option_without_a_default(declaration):
    assert default(call(declaration)) is None


def test_how_it_is_written():
    declared = call("p.add_argument('-n', '--num-threads', default=0)")
    assert flags(declared) == ["-n", "--num-threads"]
    assert flag(declared, "num_threads") == "--num-threads"
    assert flag(call("flags.DEFINE_integer('workers', 0, 'how many there are')"), "workers") == "--workers"
    assert flag(call("p.add_argument(NAME)"), "workers") == "workers"
