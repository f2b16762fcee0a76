"""Rules that are not in the package, so that tests of the house do not change with its inhabitants."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import torchperf_lint
from torchperf_lint import catalog
from torchperf_lint.model import Severity
from torchperf_lint.rule import SECTIONS, Rule, SourceRule

# For processes of their own: the package that is tested, whether it is installed or not, and a quick start.
_HOME = Path(torchperf_lint.__file__).parents[1]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(_HOME), str(_HOME / "tests" / "quick")])}
UNCOMPILED = {"UNCOMPILED": "1"}


def make_rule(code: str, name: str, /, **attributes: object) -> type[Rule]:
    """A rule that keeps the contract; its module is only a name."""
    texts = {title: f"Text of {title}." for title in SECTIONS}
    texts["Example"] = "```python\n# not a heading\nx = 1\n```"
    namespace = {
        "__doc__": "\n\n".join([f"A | {name}.", *(f"## {title}\n{text}" for title, text in texts.items())]),
        "__module__": f"torchperf_lint.rules.{code.lower()}_{name.replace('-', '_')}",
        "code": code,
        "name": name,
        "since": "0.1.0",
        "triggers": ("x",),
        **attributes,
    }
    return type("Made", (SourceRule,), namespace)


def install(monkeypatch: pytest.MonkeyPatch) -> tuple[type[Rule], ...]:
    """Four rules: TPL101, TPL103, TPL201, and TPL901 which is info and off by default."""
    rules = (
        make_rule("TPL101", "item-in-hot-loop"),
        make_rule("TPL103", "scalar-conversion"),
        make_rule("TPL201", "blocking-copy"),
        make_rule("TPL901", "amp-not-used", default=False, severity=Severity.INFO),
    )
    monkeypatch.setattr(catalog, "rule_classes", lambda: rules)
    return rules
