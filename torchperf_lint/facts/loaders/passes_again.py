"""Loaders that a loop around the passes reads again and again: epochs, and evaluations between them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.loaders.loaders import LoaderUse, Origin
from torchperf_lint.facts.loaders.rebuilt import OWN_RUNS
from torchperf_lint.facts.outlines.records import Region
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_FEW_TURNS = 2
_HOPS = 2
_FAR = 4
"""Calls between a loop and what makes the loader in its turns, which may be looked for widely: it silences."""
_DATA = pattern(r"data_?set|(?:^|[._])(?:data|ds)(?:$|[._])", re.IGNORECASE)


class Again(NamedTuple):
    """A loop each of whose turns reads a loader."""

    path: str
    region: Region
    use: LoaderUse


def read_again(project: Project, origin: Origin, uses: list[LoaderUse]) -> Again | None:
    """The loop that reads the loader made at `origin`, outside of it, in each turn; training first.

    None as well where the loop changes the data set, which workers that live on would not see.
    """
    for use in sorted(uses, key=lambda u: (u.hot.kind != "step", u.path, u.line)):
        for path, region in _loops_around(project, use):
            if not _makes(project, path, region, origin) and not _changes_the_data(project, path, region):
                return Again(path, region, _drawn_on(project, use, uses))
    return None


def _drawn_on(project: Project, use: LoaderUse, uses: list[LoaderUse]) -> LoaderUse:
    """What a generator hands its batches to, where that is surer to be hot than the loop of the generator itself.

    def endless(loader):                           batches = endless(train_loader)
        while True:                                for step in range(steps):
            for batch in loader:                       x = next(batches)
                yield batch
    """
    regions = enumerate(project.index.outlines[use.path].regions)
    own = next((n for n, r in regions if r.kind == "loop" and r.head == use.line), -1)
    yields = (use.path, own) in project.hotness.loops.generators.yielding
    if use.hot.confidence is not Confidence.POSSIBLE or not yields:
        return use
    surer = (one for one in uses if one.hot.kind == "step" and one.hot.confidence.at_least(Confidence.LIKELY))
    return next(surer, use)


def _loops_around(project: Project, use: LoaderUse) -> Iterator[tuple[str, Region]]:
    """The innermost loop around a loop over batches, in its function or in those that call it."""
    outline = project.index.outlines[use.path]
    own = next((r for r in outline.regions if r.kind == "loop" and r.head == use.line), None)
    if own is None:
        return
    asked = [(use.path, own.parent, own.function)]
    for _ in range(_HOPS + 1):
        following = []
        for path, index, function in asked:
            region = _loop(project, path, index)
            if region is not None:
                if (region.turns is None or region.turns > _FEW_TURNS) and not OWN_RUNS.search(region.detail):
                    yield path, region
                continue
            callers = project.hotness.callers.get(FunctionKey(path, function), ())
            following += [(site.path, site.call.region, site.call.function) for site in callers]
        asked = following


def _loop(project: Project, path: str, index: int) -> Region | None:
    regions = project.index.outlines[path].regions
    while index >= 0 and regions[index].kind != "function":
        if regions[index].kind == "loop":
            return regions[index]
        index = regions[index].parent
    return None


def _makes(project: Project, path: str, loop: Region, origin: Origin) -> bool:
    """Whether a loop's turns make the loader anew: in sight, or in a function that they call."""
    made, line, column = origin
    if made == path and loop.start <= (line, column) < loop.end:
        return True
    outline = project.index.outlines[made]
    makers = {FunctionKey(made, outline.regions[project.hotness.innermost(made, (line, column))].function)}
    for _ in range(_FAR):
        callers = [site for maker in makers if maker.index for site in project.hotness.callers.get(maker, ())]
        if any(s.path == path and loop.start <= (s.call.line, s.call.column) < loop.end for s in callers):
            return True
        makers = {FunctionKey(site.path, site.call.function) for site in callers}
    return False


def _changes_the_data(project: Project, path: str, loop: Region) -> bool:
    """Whether a loop assigns something of a data set, or calls a method that tells it the epoch."""
    body = project.body(path)
    node = body.functions.get(loop.function) if body is not None else None
    found = (n for n in ast.walk(node) if isinstance(n, ast.For | ast.While)) if node is not None else ()
    here = next((n for n in found if n.lineno == loop.head), None)
    return here is None or any(_is_change(part) for part in ast.walk(here))


def _is_change(node: ast.AST) -> bool:
    if isinstance(node, ast.Assign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return any(isinstance(t, ast.Attribute | ast.Subscript) and _DATA.search(chain(t.value)) for t in targets)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        told = last_part(chain(node.func)).startswith(("set_", "update", "resample", "reset", "shuffle"))
        return told and bool(_DATA.search(chain(node.func.value)))
    return False
