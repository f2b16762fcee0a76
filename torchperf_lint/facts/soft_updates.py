"""Target networks that follow softly, every second step or so: the share that they go is small since it is often.

    if updates % self.interval == 0:                   def soft_update(target, source, tau):
        soft_update(self.target, self.critic, 0.005)       for t, s in zip(target.parameters(), source.parameters()):
                                                               t.data.copy_(t.data * (1 - tau) + s.data * tau)

A target that is replaced as a whole waits for thousands of steps; one that is blended for a few.
"""

from __future__ import annotations

import re
from dataclasses import replace

from torchperf_lint.facts.hot import Hot
from torchperf_lint.facts.index import CallSite, FunctionKey
from torchperf_lint.facts.source import SourceFile
from torchperf_lint.patterns import pattern

_SOFT = pattern(r"soft|polyak", re.IGNORECASE)
_SHARE = frozenset({"tau", "polyak", "rho"})
_THROUGH = frozenset({"loop", "grad-off", "class", "optional", "way"})
_OFTEN = 10
"""The largest written interval, in steps, that counts as often."""


def softly(file: SourceFile, function: int) -> Hot | None:
    """Why a function that blends a target network is hot, where only a cadence keeps it back; None for all others."""
    record = file.outline.functions[function]
    if not _SOFT.search(record.name) and not _SHARE & {p.name for p in record.parameters}:
        return None
    sites = file.project.hotness.callers.get(FunctionKey(file.path, function), ())
    return next((hot for site in sites if (hot := _without_cadence(file, site)) is not None), None)


def _without_cadence(file: SourceFile, site: CallSite) -> Hot | None:
    """Why a call would be hot if no cadence decided over it."""
    regions = file.project.index.outlines[site.path].regions
    number, said = site.call.region, ""
    while number >= 0 and (regions[number].kind in _THROUGH or regions[number].kind == "cadence"):
        if regions[number].kind == "cadence":
            said = regions[number].detail
            hot = file.project.hotness.of_region(site.path, regions[number].parent)
            if hot is not None and hot.kind in ("step", "update"):
                return replace(hot, when=f"{hot.when} with `{said}`") if _is_often(said) else None
        number = regions[number].parent
    return None


def _is_often(test: str) -> bool:
    """Whether no long interval is written in a test: `step % 1000 == 0`."""
    return all(int(number) <= _OFTEN for number in re.findall(r"% *(\d+)", test))
