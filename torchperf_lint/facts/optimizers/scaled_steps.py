"""Optimizers that a GradScaler steps, and what the scaler reads from the device to do so.

`GradScaler.step(optimizer)` reads whether any gradient was infinite, unless the optimizer skips such steps on the
device itself: the fused ones do. `GradScaler.get_scale()` reads the factor, and so does `state_dict()`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.optimizers.optimizers_given import optimizers_given
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.model import Location
from torchperf_lint.patterns import pattern

FUSED = ("torch.optim.Adam", "torch.optim.AdamW", "torch.optim.SGD")
"""Optimizers that have a fused form on CUDA devices; SGD since torch 2.3."""
_SCALER_CLASSES = (
    "torch.amp.GradScaler", "torch.cuda.amp.GradScaler", "torch.amp.grad_scaler.GradScaler",
    "torch.cuda.amp.grad_scaler.GradScaler",
)  # fmt: skip
_SCALERS = tuple(f"{name}()" for name in _SCALER_CLASSES)
_CHOSEN = pattern(r"sparse=True|\bfused\b|FSDP|offload")
_SCALER = pattern(r"(?:^|[._])(?:grad_?)?scaler$", re.IGNORECASE)
_DECIDE = (ast.Compare, ast.BoolOp, ast.If, ast.While, ast.IfExp, ast.Assert)


class Stepped(NamedTuple):
    """An optimizer that is made without `fused=True`, and the line where a scaler steps it."""

    made: Site
    """In this file or another."""
    step: Site


def stepped_unfused(file: SourceFile) -> Iterator[Stepped]:
    """The optimizers of a file that a GradScaler steps in hot code, and that could be fused."""
    if file.mentions(("sparse=True", "fused", "FSDP", "offload")):
        return
    made = {target: site for site in file.calls_of(*FUSED) for target in _assigned(site)}
    told: set[Location] = set()
    for step in file.hot_calls("step"):
        if step.hot is None or step.hot.kind != "step" or not step.call.args or not _is_scaler(file, step):
            continue
        held = chain(step.call.args[0])
        site = made.get(_owner(step, held))
        stepped = Stepped(site, step) if site is not None else _made_elsewhere(step, held)
        if stepped is not None and stepped.made.location not in told and _is_plain(stepped.made):
            told.add(stepped.made.location)
            yield stepped


def _made_elsewhere(step: Site, held: str) -> Stepped | None:
    """The optimizer that a scaler steps, made by other functions: the first of those that they choose from."""
    project = step.file.project
    made = optimizers_given(project, step.file.path, step.function, held)
    paths = {one.path for one in made}
    if not made or any(_CHOSEN.search(project.text(path)) for path in paths):
        return None
    files = [SourceFile(project, path, project.text(path)) for path in sorted(paths)]
    places = {(one.path, one.call.lineno, one.call.col_offset) for one in made}
    sites = [site for file in files for site in file.calls_of(*FUSED)]
    fusable = [s for s in sites if (s.file.path, s.call.lineno, s.call.col_offset) in places]
    if 2 * len(fusable) < len(made) or not fusable or not all(map(_is_plain, fusable)):
        return None
    return Stepped(fusable[0], step)


def scale_reads(file: SourceFile) -> Iterator[Site]:
    """The hot calls that ask a scaler for its scale, a number that decides nothing then."""
    for site in file.hot_calls("get_scale", "state_dict"):
        if site.hot is None or site.hot.kind != "step" or site.hot.optional:
            continue
        if site.record.callee.endswith("state_dict") and not (
            _is_asked_for_its_scale(file, site) or _is_kept(file, site)
        ):
            continue
        if (_is_scaler(file, site) or _hands_on(file, site)) and not _decides(file, site):
            yield site


def _is_asked_for_its_scale(file: SourceFile, site: Site) -> bool:
    """`scaler.state_dict()["scale"]`."""
    taken = file.enclosing(site.function).parents.get(site.call)
    return isinstance(taken, ast.Subscript) and isinstance(taken.slice, ast.Constant) and taken.slice.value == "scale"


def _is_kept(file: SourceFile, site: Site) -> bool:
    """`runner.meta["scaler"] = scaler.state_dict()`: put by for a checkpoint that may come later.

    An entry of a dictionary made here, `state["scaler"] = ...`, goes into the checkpoint that comes now.
    """
    kept = file.enclosing(site.function).parents.get(site.call)
    if not isinstance(kept, ast.Assign) or kept.value is not site.call:
        return False
    target = kept.targets[0]
    inner = target.value if isinstance(target, ast.Subscript) else target
    return isinstance(target, ast.Subscript | ast.Attribute) and isinstance(inner, ast.Attribute | ast.Call)


def _hands_on(file: SourceFile, site: Site) -> bool:
    """Whether a class of the project answers as the scaler does that it keeps: `return self._scaler.state_dict()`."""
    index, types = file.project.index, file.project.types
    for thing in types.things(file.path, site.function, chain(site.receiver)) if site.receiver is not None else ():
        cls = Thing("class", thing.path, thing.index) if thing.kind == "instance" else None
        key = index.method(cls, "state_dict") if cls is not None else None
        calls = index.calls_in(key) if key is not None else ()
        if any(_SCALER.search(call.callee.removesuffix(".state_dict")) for call in calls):
            return True
    return False


def _is_scaler(file: SourceFile, site: Site) -> bool:
    if site.receiver is None:
        return False
    things = file.project.types.things(file.path, site.function, chain(site.receiver))
    if things:
        return any(thing.kind == "external" and thing.dotted in _SCALERS for thing in things)
    return bool(_SCALER.search(chain(site.receiver))) and file.mentions(("GradScaler",))


def _is_plain(site: Site) -> bool:
    """Whether nothing but what is written says how the optimizer updates."""
    told = {keyword.arg for keyword in site.call.keywords}
    return not told & {None, "fused", "foreach", "differentiable"}


def _assigned(site: Site) -> list[tuple[int, str]]:
    """What holds the optimizer that a call makes: (function or 0 for attributes, chain)."""
    statement = site.file.enclosing(site.function).statement(site.call)
    if not isinstance(statement, ast.Assign) or statement.value is not site.call:
        return []
    return [_owner(site, chain(target)) for target in statement.targets if isinstance(target, ast.Name | ast.Attribute)]


def _owner(site: Site, written: str) -> tuple[int, str]:
    """Attributes belong to the class of the method, names to their function."""
    record = site.file.outline.functions[site.function]
    return (-1 - record.class_index, written) if written.startswith("self.") else (site.function, written)


def _decides(file: SourceFile, site: Site) -> bool:
    """Whether the number is compared, itself or by the name that it gets: has a step been skipped?"""
    around = file.enclosing(site.function)
    if any(isinstance(node, _DECIDE) and site.call in ast.walk(node) for node in around.ancestors(site.call)):
        return True
    statement = around.statement(site.call)
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return isinstance(statement, ast.Return)
    name = statement.targets[0].id
    return any(
        isinstance(part, ast.Name) and part.id == name
        for test in around.of_kinds((ast.Compare,))
        for part in ast.walk(test)
    )
