"""Options that are off by default, and that all known callers of the function pass nevertheless.

def train_step(model, batch, ema=None):          for batch in loader:
    if ema is not None:                              train_step(model, batch, ema=ema)
        ...
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from torchperf_lint.facts.hot import Hot
from torchperf_lint.facts.index import CallSite, FunctionKey
from torchperf_lint.facts.project import Project
from torchperf_lint.facts.records import Position
from torchperf_lint.facts.source import SourceFile


def if_asked_for(file: SourceFile, position: Position, hot: Hot | None) -> Hot | None:
    """Why a place is hot, not optional any more where all callers of its function pass what its branches ask for."""
    if hot is None or not hot.optional:
        return hot
    regions, number = file.outline.regions, file.project.hotness.innermost(file.path, position)
    key = FunctionKey(file.path, regions[number].function)
    asked: set[str] = set()
    while number >= 0 and regions[number].kind != "function":
        if regions[number].kind == "optional":
            asked |= set(re.findall(r"\w+", regions[number].detail))
        number = regions[number].parent
    asked &= {p.name for p in file.outline.functions[key.index].parameters if p.default}
    callers = file.project.hotness.callers.get(key, ())
    if asked and callers and all(_passes(file.project, key, site, name) for site in callers for name in asked):
        return replace(hot, optional=False)
    return hot


def _passes(project: Project, key: FunctionKey, site: CallSite, name: str) -> bool:
    """Whether a call gives a parameter something that is no literal."""
    body = project.body(site.path)
    call = body.node_of(site.call) if body is not None else None
    if not isinstance(call, ast.Call) or any(isinstance(a, ast.Starred) for a in call.args):
        return False
    function = project.index.function(key)
    names = [p.name for p in function.parameters][function.bound :]
    given = {k.arg: k.value for k in call.keywords} | dict(zip(names, call.args, strict=False))
    return name in given and not isinstance(given[name], ast.Constant)
