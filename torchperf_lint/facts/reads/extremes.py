"""`max(a, b)`, `min(losses)`, `sorted(norms)` of tensors: Python compares them one by one, and asks each comparison."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.bindings.deciding import gives_size
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.reads.read_shows import ON_HOST
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.arguments import keyword
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.put_by_callers import put_by_callers
from torchperf_lint.facts.values.value import ANYWHERE, Value
from torchperf_lint.model import Confidence

_BUILTINS = ("max", "min", "sorted")


class Extreme(NamedTuple):
    """A call that compares tensors on the host."""

    site: Site
    operand: ast.expr
    """The tensor, or the container of tensors."""
    value: Value
    """What is compared."""


def extremes(file: SourceFile) -> Iterator[Extreme]:
    """The hot calls of `max`, `min` and `sorted` that compare device tensors for another end than to size something."""
    for site in file.hot_calls(*_BUILTINS):
        call = site.call
        builtin = isinstance(call.func, ast.Name) and file.denotes(call.func, site) in (
            None,
            f"builtins.{call.func.id}",
        )
        if not builtin or not call.args or any(isinstance(a, ast.Starred) for a in call.args):
            continue
        if not gives_size(file.enclosing(site.function).parents.get(call), call):
            yield from _compared(file, site)


def _compared(file: SourceFile, site: Site) -> Iterator[Extreme]:
    call = site.call
    key = keyword(call, "key")
    if len(call.args) == 1:
        # `max(norms, key=norms.get)` compares what the dict holds; any other key gives who knows what.
        of_dict = isinstance(key, ast.Attribute) and key.attr == "get" and chain(key.value) == chain(call.args[0])
        operands = call.args if key is None or of_dict else []
    else:
        operands = [a for a in call.args if key is None and not _is_number(a)]
    for operand in operands if not _of_host(file, site) else ():
        value = file.value(operand, site)
        # Of one tensor Python walks over the elements, which is another rule's business.
        held = value if len(call.args) > 1 else value.item if value.kind == "sequence" else None
        if held is None or held.kind != "tensor" or not held.on_device:
            continue
        if held.device == ANYWHERE:
            if not file.project.uses_accelerator:
                continue
            held = held.weaker(Confidence.LIKELY)
        yield Extreme(site, operand, held)
        return


def _of_host(file: SourceFile, site: Site) -> bool:
    """Whether names or a test tell of numbers: noise levels, an entry of a record, the other branch of `is_tensor`."""
    if any(_is_put_there(file, site, operand) for operand in site.call.args):
        return False
    for node in _telling(file, site):
        if isinstance(node, ast.Name | ast.Attribute) and ON_HOST.search(last_part(chain(node))):
            return True
        # What stands under one key says nothing of what stands under another.
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and type(node.slice.value) is str:
            return True
    inner: ast.AST = site.call
    parents = file.enclosing(site.function).parents
    while (parent := parents.get(inner)) is not None:
        if isinstance(parent, ast.If) and any(inner is statement for statement in parent.orelse):
            asked = chain(parent.test.func) if isinstance(parent.test, ast.Call) else ""
            if last_part(asked) in ("is_tensor", "isinstance"):
                return True
        inner = parent
    return False


def _is_put_there(file: SourceFile, site: Site, operand: ast.expr) -> bool:
    """Whether an operand is a tensor that each caller puts under that key: `state["RMS"]` of an optimizer's method."""
    asked = operand if isinstance(operand, ast.Subscript) else None
    return asked is not None and put_by_callers(file.project.values, asked, site.frame).kind == "tensor"


def _telling(file: SourceFile, site: Site) -> Iterator[ast.AST]:
    """The parts of a call that tell what it compares: of `norm / state["norm"]` the tensor does, the entry does not."""
    pending: list[ast.AST] = [site.call]
    while pending:
        node = pending.pop()
        yield node
        sides = (node.left, node.right) if isinstance(node, ast.BinOp) else ()
        tensor = next((s for s in sides if isinstance(s, ast.Name) and file.value(s, site).kind == "tensor"), None)
        pending += [tensor] if tensor is not None else ast.iter_child_nodes(node)


def _is_number(node: ast.expr) -> bool:
    """What needs no look: a constant, `len(x)`, `int(x)`."""
    return isinstance(node, ast.Constant) or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in api.PLAIN_BUILTINS
    )
