"""Whether a name holds one tensor of a batch, or may hold the whole of it: an object with a `to` of its own."""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.facts.values.values import Values

_COUNTING = frozenset({"enumerate", "zip"})
_ENTRIES = frozenset({"items", "values"})
_SHOWN = frozenset({"tqdm", "trange", "track", "islice", "iter", "cycle"})


def is_part(values: Values, name: str, frame: Frame) -> bool:
    """Whether every binding of a name takes it out of a batch: `for x, y in loader`, `[t for t in batch]`, `b["x"]`."""
    body = values.body(frame.path)
    reaching = body.reaching(frame.function, name, frame.at) if body is not None else None
    return bool(reaching) and all(_takes_out(values, d, frame, body) for d in reaching or () if body is not None)


def _takes_out(values: Values, d: Definition, frame: Frame, body: Body) -> bool:
    if d.value is None:
        return False
    if d.how == "loop":
        iterated, index = _below_counts(d.value, d.index)
        return bool(index) or _of_a_batch(values, iterated, frame.back(body.at(d.value), d.end))
    if d.how == "item":
        return True
    return isinstance(d.value, ast.Subscript) or (
        isinstance(d.value, ast.Call) and last_part(chain(d.value.func)) in api.TENSOR_ONLY_METHODS
    )


def _below_counts(node: ast.expr, index: tuple[int, ...]) -> tuple[ast.expr, tuple[int, ...]]:
    """What is gone through without its counter, and what is left to unpack: `(1, 0)` of `enumerate(x)` is `(0,)`."""
    while isinstance(node, ast.Call) and node.args:
        name = last_part(chain(node.func))
        if name in _COUNTING and index:
            node, index = node.args[0], index[1:]
        elif name in _SHOWN:
            node = node.args[0]
        else:
            break
    return node, index


def _of_a_batch(values: Values, node: ast.expr, frame: Frame) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ENTRIES:
        node = node.func.value
    return values.of(node, frame).kind == "batch"
