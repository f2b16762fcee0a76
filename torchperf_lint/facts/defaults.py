"""Where a factory without `device=` makes its tensor: `torch.set_default_device`, `with torch.device(...)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchperf_lint.facts.chains import chain, last_part
from torchperf_lint.facts.devices import device_of
from torchperf_lint.facts.literals import is_literal
from torchperf_lint.facts.records import Call
from torchperf_lint.facts.value import ANYWHERE, DEVICE, HOST, Frame

if TYPE_CHECKING:
    from torchperf_lint.facts.values import Values

_SET = frozenset({"set_default_device", "set_default_tensor_type"})


def default_device(values: Values, frame: Frame) -> str:
    """HOST, unless a block around the place or the file says otherwise."""
    body = values.body(frame.path)
    for context in body.contexts(frame.function, frame.at) if body is not None else ():
        found = _of_context(values, context, frame)
        if found is not None:
            return found
    return ANYWHERE if _set_in_file(values, frame.path) else HOST


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


def device_by_default(values: Values, frame: Frame) -> bool:
    """Whether factories surely make their tensors on the device: by the block around, or since the script begins so."""
    if default_device(values, frame) == DEVICE:
        return True
    if values.default_scripts is None:
        values.default_scripts = frozenset(_scripts_that_set(values))
    return any(frame.path.startswith(folder) for folder in values.default_scripts)


def _scripts_that_set(values: Values) -> Iterator[str]:
    """The folders of scripts that set it wherever they run: under no test but that of `__name__`."""
    for path, outline in values.index.outlines.items():
        for call in outline.calls:
            if last_part(call.callee) not in _SET or call.function or "cuda" not in _said(values, path, call):
                continue
            body = values.body(path)
            lines = [line for line, _ in body.block_of(0, (call.line, call.column))] if body is not None else []
            if body is not None and all("__name__" in body.lines[line - 1] for line in lines):
                folder = path.rpartition("/")[0]
                yield f"{folder}/" if folder else ""


def _said(values: Values, path: str, call: Call) -> str:
    body = values.body(path)
    node = body.node_of(call) if body is not None else None
    return ast.unparse(node) if node is not None else ""
