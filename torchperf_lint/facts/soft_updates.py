"""Target networks and averages that follow softly, every second step or so: their share is small since it is often.

    if updates % self.interval == 0:                   def soft_update(target, source, tau):
        soft_update(self.target, self.critic, 0.005)       for t, s in zip(target.parameters(), source.parameters()):
                                                               t.data.copy_(t.data * (1 - tau) + s.data * tau)

A target that is replaced as a whole waits for thousands of steps; one that is blended for a few. The cadence may stand
around a method that does no more than pass the networks on: `self.update_targets(tau)`.
"""

from __future__ import annotations

import re
from dataclasses import replace

from torchperf_lint.facts.hot import Hot
from torchperf_lint.facts.index import CallSite, FunctionKey
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
                often = _is_often(said, file.project.text(site.path))
                return replace(hot, when=f"{hot.when} with `{said}`") if often else None
        number = regions[number].parent
    return None


def _is_often(test: str, text: str) -> bool:
    """Whether no long interval is written, in a test or where what it asks gets a number: `step % self.interval == 0`,
    `self.interval = 1000`."""
    held = re.findall(r"% *(?:[\w.]+\.)?([A-Za-z_]\w*)", test)
    written = [n for name in held for n in re.findall(rf"\b{name}\b(?: *: *\w+)? *= *([\d_]+)\b(?!\.)", text)]
    return all(int(number) <= _OFTEN for number in (*re.findall(r"% *(\d+)", test), *written))
