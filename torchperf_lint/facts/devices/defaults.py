"""Where a factory without `device=` makes its tensor: `torch.set_default_device`, `with torch.device(...)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchperf_lint.facts.devices.devices import device_of
from torchperf_lint.facts.outlines.records import Call, Outline
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_literal
from torchperf_lint.facts.values.value import ANYWHERE, DEVICE, HOST, Frame

if TYPE_CHECKING:
    from torchperf_lint.facts.call_graph.index import Index
    from torchperf_lint.facts.values.values import Values

WITH_DEVICE = "device"
"""`with torch.device(...)`."""
TENSOR_TYPE = "set_default_tensor_type"
"""The only one that says where `torch.Tensor(...)` is made."""
_SET = frozenset({"set_default_device", TENSOR_TYPE})


def default_device(values: Values, frame: Frame) -> str:
    """HOST, unless a block around the place or the file says otherwise."""
    around = _of_block(values, frame)
    if around is not None:
        return around
    return ANYWHERE if _set_in_file(values, frame.path) else HOST


def _of_block(values: Values, frame: Frame) -> str | None:
    """The device that the innermost `with torch.device(...)` around a place says; None where none does."""
    body = values.body(frame.path)
    for context in body.contexts(frame.function, frame.at) if body is not None else ():
        found = _of_context(values, context, frame)
        if found is not None:
            return found
    return None


def _of_context(values: Values, context: ast.expr, frame: Frame) -> str | None:
    """The device that a `with` block makes the default; None for other context managers."""
    named = isinstance(context, ast.Name | ast.Attribute) or last_part(chain(context)) == "device"
    if not named or values.of(context, frame).kind != "torch_device":
        return None
    given = context.args[0] if isinstance(context, ast.Call) and context.args else context
    if is_literal(given, "meta"):
        return ANYWHERE
    return device_of(values, context, frame) or DEVICE


def _set_in_file(values: Values, path: str) -> bool:
    """Whether a file sets the default, or a script in a folder above it sets one on the device."""
    known = values.defaults_set.get(path)
    if known is None:
        calls = values.index.outlines[path].calls
        known = any(last_part(call.callee) in _SET for call in calls)
        folder = path.rpartition("/")[0] + "/"
        known = known or any(folder not in ("/", f) and folder.startswith(f) for f in _folders_of_setters(values))
        values.defaults_set[path] = known
    return known


def _folders_of_setters(values: Values) -> frozenset[str]:
    """The folders of files that say `set_default_tensor_type("torch.cuda.FloatTensor")`, as prefixes of paths."""
    if values.default_setters is None:
        found = set()
        for path, outline in values.index.outlines.items():
            for call in outline.calls:
                if last_part(call.callee) in _SET and "cuda" in _said(values, path, call):
                    folder = path.rpartition("/")[0]
                    found.add(f"{folder}/" if folder else "")
        values.default_setters = frozenset(found)
    return values.default_setters


def device_by_default(values: Values, frame: Frame) -> frozenset[str]:
    """What surely makes the device the default at a place, by name; empty where nothing does.

    WITH_DEVICE for a block around, and the functions that the script called which runs the file.
    """
    around = _of_block(values, frame)
    if around not in (None, DEVICE):
        return frozenset()
    scripts = _setters(values).get(frame.path, frozenset())
    return scripts if around is None else scripts | {WITH_DEVICE}


def _setters(values: Values) -> dict[str, frozenset[str]]:
    """Path -> how the default was set on the device before what the file defines runs, where it was."""
    if values.default_scripts is None:
        found: dict[str, frozenset[str]] = {}
        for setting, name in _scripts_that_set(values):
            for path in _imported_by(values.index, setting):
                found[path] = found.get(path, frozenset()) | {name}
        values.default_scripts = found
    return values.default_scripts


def _imported_by(index: Index, script: str) -> set[str]:
    """A script and the files that it imports, directly or through other files."""
    found, todo = {script}, [script]
    while todo:
        path = todo.pop()
        names = {part for name in _imported_names(index.outlines[path]) for part in _with_packages(name)}
        files = {file for name in names if (file := index.module(name, path)) is not None}
        todo += files - found
        found |= files
    return found


def _imported_names(outline: Outline) -> Iterator[str]:
    """The dotted names that a file imports, and what it calls by them: of `import net.render` only `net` is kept."""
    yield from outline.imports.values()
    yield from outline.stars
    whole = {name for name, dotted in outline.imports.items() if name == dotted}
    yield from {call.callee for call in outline.calls if call.callee.partition(".")[0] in whole}


def _with_packages(dotted: str) -> Iterator[str]:
    """A dotted name and what it stands in: all of them run where one is imported."""
    name = dotted.lstrip(".")
    dots = dotted[: len(dotted) - len(name)]
    parts = name.split(".")
    yield from (dots + ".".join(parts[:end]) for end in range(0 if dots else 1, len(parts) + 1))


def _scripts_that_set(values: Values) -> Iterator[tuple[str, str]]:
    """The scripts that set it wherever they run, under no test but that of `__name__`, and the function they call."""
    for path, outline in values.index.outlines.items():
        for call in outline.calls:
            if last_part(call.callee) not in _SET or call.function or "cuda" not in _said(values, path, call):
                continue
            body = values.body(path)
            lines = [line for line, _ in body.block_of(0, (call.line, call.column))] if body is not None else []
            if body is not None and all("__name__" in body.lines[line - 1] for line in lines):
                yield path, last_part(call.callee)


def _said(values: Values, path: str, call: Call) -> str:
    body = values.body(path)
    node = body.node_of(call) if body is not None else None
    return ast.unparse(node) if node is not None else ""
