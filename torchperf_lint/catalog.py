"""Finds the rules by walking the package, and selects among them by code or prefix."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from functools import lru_cache

import torchperf_lint.rules
from torchperf_lint.errors import RuleContractError
from torchperf_lint.rule import Rule, RunRule, SourceRule, TextRule

UNUSED_SUPPRESSION = "TPL001"
_CONTRACTS = (Rule, SourceRule, TextRule, RunRule)


@lru_cache(maxsize=1)
def rule_classes() -> tuple[type[Rule], ...]:
    """Every rule, sorted by code.

    Raises RuleContractError for a module without exactly one rule, and for a code or name used twice.
    """
    found: dict[str, type[Rule]] = {}
    names: set[str] = set()
    for info in pkgutil.iter_modules(torchperf_lint.rules.__path__, "torchperf_lint.rules."):
        rule = _only_rule(info.name)
        if rule.code in found or rule.name in names:
            raise RuleContractError(f"{info.name}: {rule.code} {rule.name} is used twice")
        found[rule.code] = rule
        names.add(rule.name)
    return tuple(found[code] for code in sorted(found))


def _only_rule(module_name: str) -> type[Rule]:
    module = importlib.import_module(module_name)
    rules = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Rule) and value.__module__ == module_name
    ]
    if len(rules) != 1:
        raise RuleContractError(f"{module_name}: holds {len(rules)} rules, must hold one")
    return rules[0]


def rule_class(code: str) -> type[Rule]:
    """The rule with this code. Raises KeyError."""
    return {rule.code: rule for rule in rule_classes()}[code]


def known_codes() -> frozenset[str]:
    """Every code there is."""
    return frozenset(rule.code for rule in rule_classes())


def is_selector(selector: str) -> bool:
    """Whether `selector` is ALL, a code, or a prefix of one."""
    return selector == "ALL" or (selector.startswith("TPL") and any(c.startswith(selector) for c in known_codes()))


def selected_codes(
    select: Iterable[str] | None,
    ignore: Iterable[str] = (),
    extend_select: Iterable[str] = (),
    extend_ignore: Iterable[str] = (),
) -> frozenset[str]:
    """The codes to run.

    The longest matching selector wins; at equal length an ignore beats a select. Without `select` the
    rules that are on by default run. A rule that is off by default runs only when a selector names its
    whole code (or ALL does), so that a family prefix does not switch it on.
    """
    chosen = tuple(select) if select is not None else None
    ignored = (*ignore, *extend_ignore)
    return frozenset(rule.code for rule in rule_classes() if _is_selected(rule, chosen, tuple(extend_select), ignored))


def _is_selected(
    rule: type[Rule], select: tuple[str, ...] | None, extend: tuple[str, ...], ignored: tuple[str, ...]
) -> bool:
    wanted = -1 if select is not None or not rule.default else 0
    for selector in (*(select or ()), *extend):
        if _matches(rule, selector) and (rule.default or selector in (rule.code, "ALL")):
            wanted = max(wanted, _weight(selector))
    refused = max((_weight(s) for s in ignored if _matches(rule, s)), default=-1)
    return wanted >= 0 and wanted > refused


def _matches(rule: type[Rule], selector: str) -> bool:
    return selector == "ALL" or rule.code.startswith(selector)


def _weight(selector: str) -> int:
    return 0 if selector == "ALL" else len(selector)
