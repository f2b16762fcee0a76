from __future__ import annotations

import sys
import types

import pytest
from fake_rules import install, make_rule

import torchperf_lint.rules
from torchperf_lint import catalog
from torchperf_lint.errors import RuleContractError
from torchperf_lint.rule import SECTIONS

DEFAULT = {"TPL101", "TPL103", "TPL201"}


@pytest.fixture
def rules(monkeypatch):
    return install(monkeypatch)


@pytest.mark.usefixtures("rules")
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((None,), DEFAULT),
        (((),), set()),
        ((("ALL",),), DEFAULT | {"TPL901"}),
        ((("TPL",),), DEFAULT),
        ((("TPL1",),), {"TPL101", "TPL103"}),
        ((("TPL9",),), set()),
        ((("TPL901",),), {"TPL901"}),
        ((None, ("TPL1",)), {"TPL201"}),
        ((None, ("ALL",)), set()),
        ((("TPL101",), ("TPL1",)), {"TPL101"}),
        ((("TPL101",), ("TPL101",)), set()),
        ((("TPL1",), ("TPL101",)), {"TPL103"}),
        ((None, (), ("TPL901",)), DEFAULT | {"TPL901"}),
        ((None, (), (), ("TPL2",)), {"TPL101", "TPL103"}),
        ((("TPL2",), (), ("TPL103",)), {"TPL103", "TPL201"}),
    ],
)
def test_the_longest_selector_wins_and_ignore_beats_select(arguments, expected):
    assert catalog.selected_codes(*arguments) == expected


@pytest.mark.usefixtures("rules")
@pytest.mark.parametrize(("selector", "known"), [("ALL", True), ("TPL", True), ("TPL10", True), ("TPL901", True)])
def test_selectors(selector, known):
    assert catalog.is_selector(selector) is known


@pytest.mark.usefixtures("rules")
@pytest.mark.parametrize("selector", ["", "T", "E501", "TPL7", "TPL1011", "tpl101", "all"])
def test_what_is_no_selector(selector):
    assert not catalog.is_selector(selector)


def test_every_rule_of_the_package_keeps_the_contract_and_is_found_in_order():
    codes = [rule.code for rule in catalog.rule_classes()]
    assert codes == sorted(set(codes))
    for rule in catalog.rule_classes():
        assert list(rule.docs)[: len(SECTIONS)] == list(SECTIONS), rule
        assert rule.url().endswith(f"#{rule.code.lower()}")


def add_module(monkeypatch, tmp_path, name, source):
    (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.setattr(torchperf_lint.rules, "__path__", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, f"torchperf_lint.rules.{name}", raising=False)
    return catalog.rule_classes.__wrapped__


def rule_source(code, name):
    doc = "\n".join(f"    ## {title}\n    Text." for title in SECTIONS)
    return (
        "from torchperf_lint.rule import SourceRule\n\n\nclass Found(SourceRule):\n"
        f'    """Something.\n\n{doc}\n    """\n\n'
        f'    code, name, since = "{code}", "{name}", "0.1.0"\n    triggers = ("x",)\n'
    )


def test_a_module_put_into_the_package_is_found(monkeypatch, tmp_path):
    discover = add_module(monkeypatch, tmp_path, "tpl999_made_up", rule_source("TPL999", "made-up"))
    assert [(rule.code, rule.name) for rule in discover()] == [("TPL999", "made-up")]


def test_a_module_must_hold_one_rule(monkeypatch, tmp_path):
    discover = add_module(monkeypatch, tmp_path, "tpl998_empty_one", "x = 1\n")
    with pytest.raises(RuleContractError, match="tpl998_empty_one: holds 0 rules, must hold one"):
        discover()


def test_a_code_is_never_used_twice(monkeypatch):
    modules = {
        "torchperf_lint.rules.tpl101_one_name": make_rule("TPL101", "one-name"),
        "torchperf_lint.rules.tpl101_other_name": make_rule("TPL101", "other-name"),
    }
    infos = [types.SimpleNamespace(name=name) for name in modules]
    monkeypatch.setattr(catalog.pkgutil, "iter_modules", lambda *_: infos)
    monkeypatch.setattr(catalog, "_only_rule", modules.__getitem__)
    with pytest.raises(RuleContractError, match="TPL101 other-name is used twice"):
        catalog.rule_classes.__wrapped__()


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"code": "TPL1"}, "not TPL and three digits"),
        ({"name": "Item"}, "not lower-case words"),
        ({"since": None}, "`since` is missing"),
        ({"triggers": ()}, "`triggers` is missing"),
        ({"__module__": "torchperf_lint.rules.item"}, "must stand in a module called tpl101_a_b"),
        ({"__doc__": "A thing.\n\n## What it does\nIt."}, "docstring lacks the sections Why it is slow"),
        ({"__doc__": "## What it does\nIt."}, "does not begin with one line"),
        ({"__doc__": "A thing,\nin two lines.\n\n## What it does\nIt."}, "does not begin with one line"),
    ],
)
def test_a_rule_that_breaks_the_contract_cannot_be_made(attributes, reason):
    with pytest.raises(RuleContractError, match=reason):
        make_rule("TPL101", "a-b", **attributes)
