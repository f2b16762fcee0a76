"""Loaders that a loop makes anew in each turn although nothing that goes into them changes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.constants.repeatable import same_in_each_turn
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.loaders.loaders import LoaderUse, Origin, loaders_of
from torchperf_lint.facts.outlines.records import Call, Region
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.facts.values.value import Value
from torchperf_lint.patterns import pattern

FEW_TURNS = 2
_THROUGH = frozenset({"loop", "grad-off", "way"})
"""Regions that may stand between a call and its loop; any other makes the call rare."""
OWN_RUNS = pattern(
    r"seed|fold|trial|\bruns?\b|config|setting|experiment|repeat|client|tasks?\b|domain|subject|dataset|split|model|lrs?\b|"
    r"learning_rate|replica|repetition|phases?\b|stages?\b|difficult|curriculum",
    re.IGNORECASE,
)
"""Headers of loops whose turns are runs of their own, or differ in what they train on."""
_FRESH_MODEL = pattern(
    r"(?:^|_)(?:build|create|make|init|get|reset|load)_?\w*(?:model|net|network|optimi[sz]er|param|state_dict|agent)"
    r"|^reset_parameters$|^deepcopy$",
    re.IGNORECASE,
)


_OPTIMIZER = pattern(r"torch\.optim\.(?!lr_scheduler)(?:\w+\.)?[A-Z]\w*$")


class Rebuilt(NamedTuple):
    """A call that makes a loader in each turn of a loop."""

    site: Site
    value: Value
    loop: Region
    use: LoaderUse
    """What takes its batches: the step loop first."""
    per_step: bool
    """Whether the turns are training steps themselves."""


def rebuilt_loaders(file: SourceFile) -> Iterator[Rebuilt]:
    """The calls of a file that make the same loader in each turn of a loop, which takes its batches."""
    named = [call for call in file.outline.calls if "oader" in last_part(call.callee)]
    for site in file.calls_among(call for call in named if _loop_of(file, call) is not None):
        loop = _loop_of(file, site.record)
        if loop is None or not _is_plain_repetition(file, site, loop):
            continue
        value = file.value(site.call, site)
        uses = [use for origin in value.origins for use in _uses_in(file, origin, loop)] if _makes(site, value) else []
        region = file.outline.regions[loop]
        if uses and same_in_each_turn(site, region):
            use = min(uses, key=lambda u: (u.hot.kind != "step", u.path, u.line))
            yield Rebuilt(site, value, region, use, file.project.hotness.loop_at(file.path, loop) is not None)


def _loop_of(file: SourceFile, call: Call) -> int | None:
    """The region of the innermost loop that a call stands in, where it runs in every turn."""
    regions, index = file.outline.regions, call.region
    while index >= 0 and regions[index].kind in _THROUGH:
        if regions[index].kind == "loop":
            turns = regions[index].turns
            return index if turns is None or turns > FEW_TURNS else None
        index = regions[index].parent
    return None


def _makes(site: Site, value: Value) -> bool:
    """Whether the call makes the loader itself, or calls what returns a new one; not what hands one on."""
    if value.kind != "loader" or not value.origins:
        return False
    if (site.file.path, *site.start) in value.origins:
        return True
    targets = site.file.project.types.targets(site.file.path, site.function, site.record.callee)
    return bool(targets) and all(_made_in(site, origin, targets) for origin in value.origins)


def _made_in(site: Site, origin: Origin, functions: list[FunctionKey]) -> bool:
    """Whether a loader is made in the body of one of some functions, outside loops and guards."""
    path, line, column = origin
    hotness, outline = site.file.project.hotness, site.file.project.index.outlines[path]
    region = outline.regions[hotness.innermost(path, (line, column))]
    return region.kind == "function" and FunctionKey(path, region.function) in functions


def _is_plain_repetition(file: SourceFile, site: Site, loop: int) -> bool:
    """Whether the turns repeat one thing: no runs of their own with a model each, and no branch around the call."""
    region = file.outline.regions[loop]
    body = file.project.body(file.path)
    if body is None or OWN_RUNS.search(region.detail):
        return False
    around = body.block_of(site.function, site.start)
    if not around or around[-1] != (region.head, "loop"):
        return False
    inside = (c for c in file.outline.calls if c.function == site.function and region.start <= (c.line, c.column))
    return not any(_begins_a_run(file, call) for call in inside if (call.line, call.column) < region.end)


def _begins_a_run(file: SourceFile, call: Call) -> bool:
    """Whether a call makes a model or an optimizer, or puts one back to its start."""
    if _FRESH_MODEL.search(last_part(call.callee)):
        return True
    thing = file.project.types.thing(file.path, call.function, call.callee)
    if thing is None:
        return False
    if thing.kind == "external":
        return bool(_OPTIMIZER.match(thing.dotted))
    return thing.kind == "class" and file.project.types.is_module_class(thing)


# -- who takes the batches -----------------------------------------------------------------------------


def _uses_in(file: SourceFile, origin: Origin, loop: int) -> Iterator[LoaderUse]:
    """The uses of a loader in a loop's own turns: with a further loop between, a turn is a whole run."""
    for use in loaders_of(file.project).uses(origin):
        outline = file.project.index.outlines[use.path]
        functions = [r.function for r in outline.regions if r.kind == "loop" and r.head == use.line]
        around = _loop_at(file, use)
        if around is None and functions:
            is_here = _called_in(file, FunctionKey(use.path, functions[0]), loop)
        else:
            is_here = around == (file.path, loop)
        if is_here:
            yield use


def _loop_at(file: SourceFile, use: LoaderUse) -> tuple[str, int] | None:
    """The loop whose turns walk a loader once, or take a batch of it; None for none in that function."""
    outline = file.project.index.outlines[use.path]
    for region in outline.regions:
        if region.kind == "loop" and region.head == use.line:
            return _around(file, use.path, region.parent)
    taken = next((call for call in outline.calls if call.line == use.line and call.callee == "next"), None)
    return _around(file, use.path, taken.region) if taken is not None else None


def _around(file: SourceFile, path: str, index: int) -> tuple[str, int] | None:
    regions = file.project.index.outlines[path].regions
    while index >= 0 and regions[index].kind != "function":
        if regions[index].kind == "loop":
            return path, index
        index = regions[index].parent
    return None


def _called_in(file: SourceFile, key: FunctionKey, loop: int) -> bool:
    """Whether a loop's own turns call a function."""
    sites = file.project.hotness.callers.get(key, ())
    return any(s.path == file.path and _around(file, s.path, s.call.region) == (file.path, loop) for s in sites)
