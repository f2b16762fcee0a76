"""Target networks and averages that follow softly, every second step or so: their share is small since it is often.

    if updates % self.interval == 0:                   def soft_update(target, source, tau):
        soft_update(self.target, self.critic, 0.005)       for t, s in zip(target.parameters(), source.parameters()):
                                                               t.data.copy_(t.data * (1 - tau) + s.data * tau)

A target that is replaced as a whole waits for thousands of steps; one that is blended for a few, but not always: told
is what is known to be often, `self.interval = 2`, or a parameter whose default that is. The cadence may stand around a
method that does no more than pass the networks on: `self.update_targets(tau)`.
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from torchperf_lint.facts.arguments import unpacks_keywords
from torchperf_lint.facts.bodies import Body
from torchperf_lint.facts.chains import chain
from torchperf_lint.facts.hints import default_of
from torchperf_lint.facts.hot import Hot
from torchperf_lint.facts.index import CallSite, FunctionKey
from torchperf_lint.facts.passed import argument_for, call_at
from torchperf_lint.facts.source import SourceFile
from torchperf_lint.patterns import pattern

_SOFT = pattern(r"soft|polyak|(?:^|_)ema(?:_|$)|(?:moving|model)_av(?:era)?g", re.IGNORECASE)
_SHARE = frozenset({"tau", "polyak", "rho"})
_THROUGH = frozenset({"loop", "grad-off", "class", "optional", "way"})
_HOPS = 3
"""Calls between the cadence and the loop."""
_OFTEN = 10
"""The largest written interval, in steps, that counts as often."""


def softly(file: SourceFile, function: int) -> Hot | None:
    """Why a function that blends a target network is hot, where only a cadence keeps it back; None for all others."""
    record = file.outline.functions[function]
    if not _SOFT.search(record.name) and not _SHARE & {p.name for p in record.parameters}:
        return None
    return _called_softly(file, FunctionKey(file.path, function), _HOPS)


def _called_softly(file: SourceFile, key: FunctionKey, hops: int) -> Hot | None:
    """Why a function would be hot if no cadence decided over its calls, or over those of what calls it always."""
    sites = file.project.hotness.callers.get(key, ())
    found = next((hot for site in sites if (hot := _without_cadence(file, site)) is not None), None)
    for site in sites if found is None and hops > 1 else ():
        caller = FunctionKey(site.path, site.call.function)
        if caller.index and caller != key and _is_always_made(file, site):
            found = found or _called_softly(file, caller, hops - 1)
    return found


def _is_always_made(file: SourceFile, site: CallSite) -> bool:
    """Whether a function makes a call whenever it runs."""
    regions = file.project.index.outlines[site.path].regions
    number = site.call.region
    while number >= 0 and regions[number].kind in ("loop", "grad-off"):
        number = regions[number].parent
    return number >= 0 and regions[number].kind == "function"


def _without_cadence(file: SourceFile, site: CallSite) -> Hot | None:
    """Why a call would be hot if no cadence decided over it."""
    regions = file.project.index.outlines[site.path].regions
    number, said = site.call.region, ""
    while number >= 0 and (regions[number].kind in _THROUGH or regions[number].kind == "cadence"):
        if regions[number].kind == "cadence":
            said = regions[number].detail
            hot = file.project.hotness.of_region(site.path, regions[number].parent)
            if hot is not None and hot.kind in ("step", "update"):
                often = _is_often(file, FunctionKey(site.path, site.call.function), said)
                return replace(hot, when=f"{hot.when} with `{said}`") if often else None
        number = regions[number].parent
    return None


def _is_often(file: SourceFile, key: FunctionKey, test: str) -> bool:
    """Whether each interval in a test is known to be short: `step % 2 == 0`, `step % self.interval == 0`."""
    body = file.project.body(key.path)
    try:
        nodes = list(ast.walk(ast.parse(test, mode="eval")))
    except SyntaxError:
        return False  # what is said of a long test is cut off
    intervals = [n.right for n in nodes if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod)]
    return body is not None and bool(intervals) and all(_is_short(file, body, key, one) for one in intervals)


def _is_short(file: SourceFile, body: Body, key: FunctionKey, interval: ast.expr, hops: int = _HOPS) -> bool:
    """Whether an interval is a small number as written, or all that its function or class gives it is."""
    if isinstance(interval, ast.Constant):
        return _is_number(interval)
    name = chain(interval)
    if _is_short_option(file, key.path, name):
        return True
    if hops == 0 or not name.removeprefix("self.").isidentifier():
        return False
    functions = file.project.index.outlines[key.path].functions
    if name.startswith("self."):
        own = functions[key.index].class_index
        methods = [FunctionKey(key.path, n) for n, f in enumerate(functions) if f.class_index == own >= 0]
        held = [(method, v) for method in methods for v, _ in body.self_assigned(method.index, name[5:])]
        return bool(held) and all(_is_short(file, body, method, value, hops - 1) for method, value in held)
    if name in [parameter.name for parameter in functions[key.index].parameters]:
        return name not in body.definitions(key.index) and _is_given_short(file, body, key, name)
    bound = body.definitions(key.index).get(name, ())
    if not bound and key.index:
        return _is_short(file, body, FunctionKey(key.path, functions[key.index].parent), interval, hops)
    return bool(bound) and all(d.how == "assign" and not d.index and _is_number(d.value) for d in bound)


def _is_given_short(file: SourceFile, body: Body, key: FunctionKey, name: str) -> bool:
    """Whether a parameter is a small number by default, and where calls give it."""
    project, record = file.project, file.project.index.function(key)
    default = default_of(body.functions.get(key.index), name)
    for site in project.hotness.callers.get(key, ()):
        call = call_at(project.values, site)
        if call is None or unpacks_keywords(call) or any(isinstance(a, ast.Starred) for a in call.args):
            return False
        given = argument_for(call, record, name)
        if given is not None and not _is_number(given) and not _is_short_option(file, site.path, chain(given)):
            return False
    return _is_number(default)


def _is_short_option(file: SourceFile, path: str, name: str) -> bool:
    """Whether a file declares an option with a small default: `args.interval`, and `"--interval", default=2`."""
    whose, _, option = name.rpartition(".")
    if not _OPTIONS.search(whose) or not option.isidentifier():
        return False
    written = option.replace("_", "[_-]")
    declared = rf"""add_argument\(\s*["']--{written}["'][^()]*?\bdefault *= *(\d+)\b(?!\.)"""
    defaults = re.findall(declared, file.project.text(path))
    return bool(defaults) and all(int(default) <= _OFTEN for default in defaults)


_OPTIONS = pattern(r"(?:^|\.)(?:args|opts?|options|flags|hparams|config|cfg|params)$")


def _is_number(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value <= _OFTEN
