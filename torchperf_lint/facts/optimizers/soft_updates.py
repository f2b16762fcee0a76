"""Target networks and averages that follow softly, every second step or so: their share is small since it is often.

    if updates % self.interval == 0:                   def soft_update(target, source, tau):
        soft_update(self.target, self.critic, 0.005)       for t, s in zip(target.parameters(), source.parameters()):
                                                               t.data.copy_(t.data * (1 - tau) + s.data * tau)

A target that is replaced as a whole waits for thousands of steps; one that is blended for a few, but not always: told
is what is seen to be often, `self.interval = 2`, and what goes by a small share, `tau`, where no interval is seen. The
cadence may stand around a method that does no more than pass the networks on: `self.update_targets(tau)`. It may stand
in the method itself, `if self.steps % self.update_every != 0: return`, where most objects leave it at one or a few.
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.constants.seen_constants import Constants, constants, of_parameter
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.patterns import pattern

_SOFT = pattern(r"soft|polyak|(?:^|_)ema(?:_|$)|(?:moving|model)_av(?:era)?g", re.IGNORECASE)
_SHARE = frozenset({"tau", "polyak", "rho"})
_THROUGH = frozenset({"loop", "grad-off", "class", "optional", "way"})
_HOPS = 3
"""Calls between the cadence and the loop."""
_OFTEN = 10
"""The largest interval, in steps, that counts as often."""
_A_FEW = 4
"""The largest interval that an average may keep itself and still be kept up step by step."""
_SMALL = 0.1
"""The largest share of the source in one update that says that there are many."""


def softly(file: SourceFile, function: int) -> Hot | None:
    """Why a function that blends a target network is hot, where only a cadence keeps it back; None for all others."""
    record, key = file.outline.functions[function], FunctionKey(file.path, function)
    share = next((p.name for p in record.parameters if p.name in _SHARE), "")
    if not _SOFT.search(record.name) and not share:
        return None
    return _called_softly(file, key, _goes_softly(file, key, share), _HOPS)


def at_own_pace(file: SourceFile, function: int, start: tuple[int, int]) -> Hot | None:
    """Why the code at a place is hot, where only an interval in its function keeps it back, and is seen to be short."""
    key = FunctionKey(file.path, function)
    hot = file.project.hotness.functions.get(key)
    said = paces(file, function, start) if hot is not None else None
    spans = sorted({ast.unparse(one) for test in said or () for one in _intervals(test) or ()})
    return replace(hot, when=f"{hot.when}, at intervals of `{spans[0]}`") if hot is not None and spans else None


def paces(file: SourceFile, function: int, start: tuple[int, int]) -> list[str] | None:
    """The tests for short intervals around a place in its function; None where anything else keeps it back."""
    regions, number = file.outline.regions, file.project.hotness.innermost(file.path, start)
    said: list[str] = []
    while number >= 0 and regions[number].kind != "function":
        region = regions[number]
        if region.kind == "cadence" and _keeps_pace(file, FunctionKey(file.path, function), region.detail):
            said.append(region.detail)
        elif region.kind not in _THROUGH - {"optional"}:
            return None
        number = region.parent
    return said


def _called_softly(file: SourceFile, key: FunctionKey, softly: bool, hops: int) -> Hot | None:
    """Why a function would be hot if no cadence decided over its calls, or over those of what calls it always."""
    sites = file.project.hotness.callers.get(key, ())
    found = next((hot for site in sites if (hot := _without_cadence(file, site, softly)) is not None), None)
    for site in sites if found is None and hops > 1 else ():
        caller = FunctionKey(site.path, site.call.function)
        if caller.index and caller != key and _is_always_made(file, site):
            found = found or _called_softly(file, caller, softly, hops - 1)
    return found


def _is_always_made(file: SourceFile, site: CallSite) -> bool:
    """Whether a function makes a call whenever it runs."""
    regions = file.project.index.outlines[site.path].regions
    number = site.call.region
    while number >= 0 and regions[number].kind in ("loop", "grad-off"):
        number = regions[number].parent
    return number >= 0 and regions[number].kind == "function"


def _without_cadence(file: SourceFile, site: CallSite, softly: bool) -> Hot | None:
    """Why a call would be hot if no cadence decided over it."""
    regions = file.project.index.outlines[site.path].regions
    number, said = site.call.region, ""
    while number >= 0 and (regions[number].kind in _THROUGH or regions[number].kind == "cadence"):
        if regions[number].kind == "cadence":
            said = regions[number].detail
            hot = file.project.hotness.of_region(site.path, regions[number].parent)
            if hot is not None and hot.kind in ("step", "update"):
                often = _is_often(file, FunctionKey(site.path, site.call.function), said, softly)
                return replace(hot, when=f"{hot.when} with `{said}`") if often else None
        number = regions[number].parent
    return None


def _is_often(file: SourceFile, key: FunctionKey, test: str, softly: bool) -> bool:
    """Whether each interval in a test is seen to be short: `step % 2 == 0`, `step % self.interval == 0`.

    `softly`: whether those of which nothing is seen count, too.
    """
    intervals = _intervals(test)
    if intervals is None:
        return False
    seen = [constants(file.project, one, key) for one in intervals]
    measured = any(isinstance(n, ast.Call) and chain(n.func) == "len" for one in intervals for n in ast.walk(one))
    short = bool(seen) and all(_is_at_most(_OFTEN, one) for one in seen)
    return short and not measured and (softly or all(None not in one for one in seen))


def _intervals(test: str) -> list[ast.expr] | None:
    """What counts are taken modulo in a test; None for a long one, of which what is said is cut off."""
    try:
        nodes = list(ast.walk(ast.parse(test, mode="eval")))
    except SyntaxError:
        return None
    return [n.right for n in nodes if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod)]


def _keeps_pace(file: SourceFile, key: FunctionKey, test: str) -> bool:
    """Whether a method that counts its calls does something in each, or in a few, as far as is seen."""
    intervals = _intervals(test)
    seen = [constants(file.project, one, key) for one in intervals or ()]
    return bool(seen) and all(None not in one and _is_at_most(_A_FEW, one) for one in seen)


def _goes_softly(file: SourceFile, key: FunctionKey, share: str) -> bool:
    """Whether a share is called so that it is a small one, and nothing larger is given for it."""
    return bool(share) and _is_at_most(_SMALL, of_parameter(file.project, key, share))


def _is_at_most(largest: float, seen: Constants) -> bool:
    """Whether no number that is seen is larger."""
    return all(value <= largest for value in seen if isinstance(value, int | float))
