"""Checkpoints and copies of whole models: which call makes one, and whether a training loop does so at every step."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.outlines import guards
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.results import MODULE_NAME
from torchperf_lint.patterns import pattern

SAVE = "writes a checkpoint"
COPY = "copies the whole model"

_SAVERS = frozenset({"save_pretrained", "save_checkpoint", "save_state", "save_model", "save_ckpt", "save_weights"})
NAMES = ("save", "save_file", "deepcopy", "state_dict", *sorted(_SAVERS))
_FUNCTIONS = {"torch.save": SAVE, "safetensors.torch.save_file": SAVE, "safetensors.torch.save_model": SAVE,
              "torch.distributed.checkpoint.save": SAVE, "copy.deepcopy": COPY}  # fmt: skip
_STATE = pattern(r"state_dict|(?:^|_)(?:checkpoint|ckpt|state|weights|params)s?(?:_|$)", re.IGNORECASE)
_BEST = pattern(r"best|improved|is_better|lowest|highest|min_loss|max_acc", re.IGNORECASE)
_EPOCHS = pattern(r"\bepochs?\b|\bep\b|fold|trial|round|stage|task", re.IGNORECASE)


class Snapshot(NamedTuple):
    """A call that takes a whole model to the disk or copies it."""

    does: str
    best_only: bool
    """Whether it happens only where a result is the best so far."""
    about: str
    """Why it is a whole model, in words."""


def snapshot_at(site: Site) -> Snapshot | None:
    """The snapshot that a call in a step loop takes at every step; None for anything else."""
    if not _in_step_loop(site):
        return None
    found = _what(site)
    if found is None:
        return None
    does, about = found
    tests = _tests_around(site)
    if any(_is_cadence(test) for test in tests):
        return None
    return Snapshot(does, any(_is_record(test) for test in tests), about)


def _in_step_loop(site: Site) -> bool:
    """In a loop that trains with each turn, and whose turns are not called epochs."""
    hot = site.hot
    if hot is None or hot.kind != "step" or hot.loop is None:
        return False
    region = site.file.project.index.outlines[hot.loop[0]].regions[hot.loop[1]]
    return not _EPOCHS.search(region.detail.partition(" in ")[0]) and not _EPOCHS.search(
        region.detail.partition(" in ")[2]
    )


def _what(site: Site) -> tuple[str, str] | None:
    name = last_part(site.record.callee)
    dotted = site.file.denotes(site.call.func, site) or ""
    if dotted in _FUNCTIONS:
        whole = _whole_model(site, site.call.args[0]) if site.call.args else None
        return (_FUNCTIONS[dotted], whole) if whole is not None else None
    if name == "state_dict":
        return _copied_state(site)
    if name not in _SAVERS:
        return None
    key = next(iter(site.file.project.types.targets(site.file.path, site.record.function, site.record.callee)), None)
    if key is not None:
        return (SAVE, f"`{name}` calls `torch.save`") if _saves(site, key) else None
    about = {"save_pretrained": "a model's weights", "save_state": "model, optimizer and generators"}.get(name)
    return (SAVE, f"`{name}` writes {about or 'the training state'}")


def _saves(site: Site, key: FunctionKey) -> bool:
    """Whether a function of the project saves whenever it is called, not on a cadence of its own."""
    project = site.file.project
    outline = project.index.outlines[key.path]
    for call in outline.calls:
        if call.function == key.index and call.callee.endswith(("torch.save", "save_pretrained", "save_file")):
            region, rare = call.region, False
            while region > 0 and outline.regions[region].kind != "function":
                rare = rare or outline.regions[region].kind in ("cadence", "debug", "once", "loop")
                region = outline.regions[region].parent
            return not rare
    return False


def _whole_model(site: Site, node: ast.expr, within: frozenset[ast.expr] = frozenset()) -> str | None:
    """Why an expression is a model or its state. `within`: what it is asked for, `state = {"model": state}`."""
    written = chain(node)
    if isinstance(node, ast.Dict):
        states = [v for v in node.values if _whole_model(site, v, within | {node})]
        return "a dict with a model's state" if states else None
    if isinstance(node, ast.Call) and last_part(written) in ("state_dict", "get_peft_model_state_dict"):
        return f"`{ast.unparse(node)}` holds every weight"
    value = site.file.value(node, site)
    if value.kind == "module":
        return value.because or "a module"
    if isinstance(node, ast.Name) and _STATE.search(node.id):
        body = site.file.project.body(site.file.path)
        found = body.reaching(site.function, node.id, site.start) if body is not None else None
        values = [d.value for d in found or () if d.value is not None and d.value is not node]
        told = [_whole_model(site, v, within) for v in values if not isinstance(v, ast.Name) and v not in within]
        return next((t for t in told if t), None)
    named = isinstance(node, ast.Name | ast.Attribute) and MODULE_NAME.search(last_part(written))
    return f"`{written}`, a module by its name" if named and value.kind == "unknown" else None


def _copied_state(site: Site) -> tuple[str, str] | None:
    """`{k: v.cpu() for k, v in model.state_dict().items()}`."""
    parents = site.file.enclosing(site.function).parents
    node: ast.AST = site.call
    for _ in range(4):
        node = parents.get(node, node)
        if isinstance(node, ast.DictComp):
            moved = last_part(chain(node.value)) if isinstance(node.value, ast.Call) else ""
            copies = moved in ("cpu", "clone", "numpy", "deepcopy", "to")
            return (COPY, f"`{ast.unparse(site.call)}` holds every weight") if copies else None
    return None


def _tests_around(site: Site) -> list[ast.expr]:
    """The tests of the branches that a call is in."""
    parents = site.file.enclosing(site.function).parents
    found, node = [], parents.get(site.call)
    while node is not None:
        if isinstance(node, ast.If | ast.IfExp):
            found.append(node.test)
        if isinstance(node, ast.For | ast.AsyncFor | ast.While):
            break
        node = parents.get(node)
    return found


def _is_record(test: ast.expr) -> bool:
    """`if loss < best:`"""
    return bool(_BEST.search(ast.unparse(test))) or (
        isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Lt | ast.Gt | ast.LtE | ast.GtE)
    )


def _is_cadence(test: ast.expr) -> bool:
    """Whether anything in a test counts or schedules; more than the outline's guards know: `step in saves`."""
    if guards.guard(test) is not None:
        return True
    words = ast.unparse(test)
    return bool(
        re.search(
            r"%|save|checkpoint|ckpt|every|interval|freq|step|iter|epoch|done|last|time|final", words, re.IGNORECASE
        )
    )
