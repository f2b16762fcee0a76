"""What a profiler records: the loops and training calls inside the block of a `with` that starts one.

A loop inside such a block is cold to other rules, since whoever profiles it wants it slow; here it is asked directly.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_true

PROFILERS = {
    "torch.profiler.profile": "records every operation",
    "torch.profiler.profiler.profile": "records every operation",
    "torch.autograd.profiler.profile": "records every operation",
    "torch.autograd.profiler.emit_nvtx": "marks every operation for Nsight",
    "torch.autograd.profiler.emit_itt": "marks every operation for VTune",
    "cProfile.Profile": "times every Python call",
}
_FITS = frozenset({"lightning.Trainer().fit", "transformers.Trainer().train", "transformers.Seq2SeqTrainer().train"})
_TRIAL_TURNS = 200
"""A loop of fewer turns is there to be profiled."""
_ENDS = (ast.Break, ast.Return)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_SHORTENED = ("max_steps", "fast_dev_run", "limit_train_batches", "overfit_batches")
_MAX_DEPTH = 2


class Profiled(NamedTuple):
    """A profiler around training or evaluation, and how much of it is recorded."""

    site: Site
    what: str
    """`all of `for x, y in loader` (line 12)`."""


def profiled(file: SourceFile) -> Iterator[Profiled]:
    """The `with` blocks that profile a whole run: no schedule, no switch, and no early end of the loop inside."""
    for site in file.calls_of(*PROFILERS):
        statement = file.enclosing(site.function).parents.get(site.call)
        block = file.enclosing(site.function).parents.get(statement) if isinstance(statement, ast.withitem) else None
        if not isinstance(block, ast.With | ast.AsyncWith) or _chosen(site.call):
            continue
        loops = [node for node in file.enclosing(site.function).around(block) if isinstance(node, _LOOPS)]
        if not all(_is_whole(loop) for loop in loops if isinstance(loop, _LOOPS)):
            continue
        what = f"anew {site.hot.when}" if site.hot is not None else _recorded(file, site, block)
        if what is not None:
            yield Profiled(site, what)


def _chosen(call: ast.Call) -> bool:
    """Whether a schedule or a switch decides about what is recorded, or something unpacked may."""
    if call.args and not isinstance(call.args[0], ast.Constant | ast.List):
        return True
    for keyword in call.keywords:
        literal = is_true(keyword.value)
        if keyword.arg in (None, "schedule") or (keyword.arg == "enabled" and not literal):
            return True
    return False


def _recorded(file: SourceFile, site: Site, block: ast.With | ast.AsyncWith) -> str | None:
    """What the first training loop or call in the block is called; None where there is none, or it ends early."""
    around = file.enclosing(site.function)
    for node in around.of_kinds((*_LOOPS, ast.Call)):
        if not any(outer is block for outer in around.around(node)) or _is_part_of(block, node, around.parents):
            continue
        if isinstance(node, ast.Call):
            told = _trains(file, site, node)
        else:
            assert isinstance(node, _LOOPS)
            if not _is_whole(node):
                return None  # a trial
            told = _loop(file, node)
        if told is not None:
            return told
    return None


def _is_part_of(block: ast.With | ast.AsyncWith, node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether a node is in the head of the `with`, not in its block."""
    while parents.get(node) is not block and node in parents:
        node = parents[node]
    return isinstance(node, ast.withitem)


def _is_whole(loop: ast.For | ast.AsyncFor | ast.While) -> bool:
    """Whether nothing in a loop's body ends it early."""
    return not any(isinstance(node, _ENDS) for statement in loop.body for node in ast.walk(statement))


def _loop(file: SourceFile, loop: ast.For | ast.AsyncFor | ast.While) -> str | None:
    """What a loop over batches is called; None for another, and for a short one."""
    hotness, regions = file.project.hotness, file.outline.regions
    region = hotness.innermost(file.path, file.span(loop.body[0])[0])
    while region >= 0 and (regions[region].kind != "loop" or regions[region].head != file.span(loop)[0][0]):
        region = regions[region].parent
    if region < 0:
        return None
    found, turns = hotness.loops.at(file.path, region), regions[region].turns
    if found is None or (turns is not None and turns <= _TRIAL_TURNS) or _is_cut(regions[region].detail):
        return None
    return f"every turn of `{regions[region].detail}` (line {regions[region].head})"


def _is_cut(detail: str) -> bool:
    return "islice" in detail or "itertools" in detail


def _trains(file: SourceFile, site: Site, call: ast.Call) -> str | None:
    """What a call trains with: a function of the project that holds a training loop, or a framework's trainer."""
    written = chain(call.func)
    if last_part(written) in ("fit", "train") and file.denotes(call.func, site) in _FITS:
        return None if file.mentions(_SHORTENED) else f"all of `{file.brief(call)}`"
    targets = file.project.types.targets(file.path, site.function, written) if written else ()
    return f"all of `{file.brief(call)}`" if any(_loops(file, target, _MAX_DEPTH) for target in targets) else None


def _loops(file: SourceFile, key: FunctionKey, depth: int) -> bool:
    """Whether a function, or one that it calls, holds a loop that trains."""
    project = file.project
    outline, loops = project.index.outlines[key.path], project.hotness.loops
    for number, region in enumerate(outline.regions):
        if region.kind == "loop" and region.function == key.index:
            found = loops.at(key.path, number)
            if found is not None and found.kind == "step" and region.turns is None and not _is_cut(region.detail):
                return True
    return depth > 1 and any(_loops(file, target, depth - 1) for _, target in project.hotness.callees.get(key, ()))
