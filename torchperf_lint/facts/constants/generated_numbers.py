"""Numbers that the host counts out, and torch could on the device: `range(n)`, `np.arange(n) * 4 + i`, `np.eye(k)`."""

from __future__ import annotations

import ast

from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.arguments import keyword
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.facts.values.values import Values

_COUNT = frozenset("builtins.range numpy.arange numpy.linspace numpy.eye numpy.identity".split())
_JOIN = frozenset(
    "concatenate stack hstack vstack meshgrid array asarray tile repeat reshape "
    "expand_dims transpose squeeze ascontiguousarray".split()
)
"""Functions of numpy that give the numbers of their first argument, or of all, in another shape."""
_KEEP = frozenset("astype copy flatten ravel reshape transpose".split())
"""Methods of arrays that leave the numbers what they are."""
_MAX_DEPTH = 8


def is_counted(values: Values, node: ast.expr, frame: Frame, depth: int = 0) -> bool:
    """Whether an expression is made of nothing but such ranges, and of numbers that these are shifted or scaled by."""
    if depth > _MAX_DEPTH:
        return False
    if isinstance(node, ast.List | ast.Tuple):
        return bool(node.elts) and all(is_counted(values, part, frame, depth + 1) for part in node.elts)
    if isinstance(node, ast.ListComp):
        over = [is_counted(values, generator.iter, frame, depth + 1) for generator in node.generators]
        turns = {ast.unparse(generator.target) for generator in node.generators}
        whole = ast.unparse(node.elt) in turns or is_counted(values, node.elt, frame, depth + 1)
        return all(over) and whole and not any(generator.ifs for generator in node.generators)
    if isinstance(node, ast.BinOp):
        either = [part for part in (node.left, node.right) if is_counted(values, part, frame, depth + 1)]
        others = [part for part in (node.left, node.right) if part not in either]
        return bool(either) and all(values.of(part, frame).kind in ("plain", "unknown") for part in others)
    return isinstance(node, ast.Call) and _counts(values, node, frame, depth)


def counted_there(made: ast.Call, device: str) -> str | None:
    """How torch counts on the device what a tensor is made of, where that is a range: `torch.arange(n, device=d)`."""
    counted = _between_brackets(made.args[0]) if made.args else None
    return f"torch.arange({counted}, {_dtype(made)}device={device})" if counted else None


def _between_brackets(node: ast.expr) -> str | None:
    """`0, n` of `range(0, n)`, of `list(range(0, n))` and of `[i for i in range(0, n)]`."""
    if isinstance(node, ast.ListComp) and len(node.generators) == 1 and not node.generators[0].ifs:
        turns = node.generators[0]
        return _between_brackets(turns.iter) if ast.unparse(turns.target) == ast.unparse(node.elt) else None
    if not isinstance(node, ast.Call) or node.keywords or any(isinstance(each, ast.Starred) for each in node.args):
        return None
    if chain(node.func) in ("list", "tuple") and len(node.args) == 1:
        return _between_brackets(node.args[0])
    return ", ".join(map(ast.unparse, node.args)) if chain(node.func) == "range" else None


def _dtype(made: ast.Call) -> str:
    """The dtype to ask for where `torch.arange`, which gives int64 of whole numbers, would give another."""
    asked, kind = keyword(made, "dtype"), last_part(chain(made.func))
    if asked is not None:
        return f"dtype={ast.unparse(asked)}, "
    if isinstance(made.func, ast.Attribute) and kind in ("new_tensor", "new"):
        return f"dtype={ast.unparse(made.func.value)}.dtype, "
    legacy = api.LEGACY_DTYPES.get(kind, "torch.float") if kind in api.LEGACY_TYPES - {"LongTensor"} else ""
    return f"dtype={legacy}, " if legacy else ""


def _counts(values: Values, node: ast.Call, frame: Frame, depth: int) -> bool:
    keeps = isinstance(node.func, ast.Attribute) and node.func.attr in _KEEP
    if keeps and isinstance(node.func, ast.Attribute) and not _is_numpy(values, node.func.value, frame):
        return is_counted(values, node.func.value, frame, depth + 1)
    if chain(node.func) in ("list", "tuple") and len(node.args) == 1:
        return is_counted(values, node.args[0], frame, depth + 1)
    thing = values.thing(node.func, frame)
    if thing is None or thing.kind != "external" or not node.args or isinstance(node.args[0], ast.Starred):
        return False
    if thing.dotted in _COUNT:
        return True
    joins = thing.dotted.startswith("numpy.") and last_part(thing.dotted) in _JOIN
    return joins and is_counted(values, node.args[0], frame, depth + 1)


def _is_numpy(values: Values, node: ast.expr, frame: Frame) -> bool:
    """`np` of `np.reshape(a, n)`."""
    thing = values.thing(node, frame)
    return thing is not None and thing.dotted == "numpy"
