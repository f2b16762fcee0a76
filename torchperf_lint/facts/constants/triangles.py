"""Triangles of ones that numpy makes on the host, as causal masks are: the device makes them without a copy.

    mask = np.triu(np.ones((1, size, size)), k=1).astype("uint8")
    mask = torch.from_numpy(mask == 0).to(device)          # torch.ones(1, size, size, ..., device=device).tril()
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.bindings.put_into import written_into
from torchperf_lint.facts.constants.filled_arrays import is_filled_array
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.facts.values.value import Frame

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_KEEP = frozenset("astype copy reshape".split())
"""Methods of arrays that leave the ones where they are."""
_MAX_DEPTH = 8


def is_triangle(values: Values, node: ast.expr, frame: Frame, depth: int = 0) -> bool:
    """Whether an array is such a triangle, also scaled, compared with a number, or in more dimensions."""
    if depth > _MAX_DEPTH:
        return False
    if isinstance(node, ast.Name):
        return _named(values, node, frame, depth)
    if isinstance(node, ast.UnaryOp):
        return is_triangle(values, node.operand, frame, depth + 1)
    if isinstance(node, ast.BinOp | ast.Compare):
        return _of_numbers(values, node, frame, depth)
    if isinstance(node, ast.Subscript):
        return _adds_dimensions(node.slice) and is_triangle(values, node.value, frame, depth + 1)
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr in _KEEP:
        return is_triangle(values, node.func.value, frame, depth + 1)
    thing = values.thing(node.func, frame)
    numpys = thing is not None and thing.kind == "external" and thing.dotted.startswith("numpy.")
    return numpys and _is_cut(values, node, last_part(thing.dotted), frame, depth)  # type: ignore[union-attr]


def _is_cut(values: Values, node: ast.Call, name: str, frame: Frame, depth: int) -> bool:
    """`np.tri(n)`, and `np.triu(np.ones((n, n)), 1)`."""
    if name == "tri":
        return True
    if name not in ("triu", "tril") or not node.args:
        return False
    whole = node.args[0]
    body = values.body(frame.path)
    if isinstance(whole, ast.Name) and body is not None:
        made = body.assigned_once(frame.function, whole.id, body.at(whole))
        if made is None or _is_written_into(values, whole.id, frame):
            return False
        return is_filled_array(values, made, frame._replace(at=body.at(made)))
    return is_filled_array(values, whole, frame) or is_triangle(values, whole, frame, depth + 1)


def _named(values: Values, node: ast.Name, frame: Frame, depth: int) -> bool:
    """Whether the one binding that holds at a name is a triangle, into which nobody writes."""
    body = values.body(frame.path)
    reaching = body.reaching(frame.function, node.id, frame.at) if body is not None else None
    only = reaching[0] if reaching and len(reaching) == 1 else None
    if body is None or only is None or only.how != "assign" or only.value is None:
        return False
    if _is_written_into(values, node.id, frame):
        return False
    return is_triangle(values, only.value, frame._replace(at=body.at(only.value)), depth + 1)


def _is_written_into(values: Values, name: str, frame: Frame) -> bool:
    body = values.body(frame.path)
    return body is None or any(True for _ in written_into(body, frame.function, name))


def _of_numbers(values: Values, node: ast.BinOp | ast.Compare, frame: Frame, depth: int) -> bool:
    """`mask == 0`, `1 - mask`, `mask * -1e9`: of one such triangle and numbers."""
    sides = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.left, *node.comparators]
    others = [side for side in sides if not isinstance(side, ast.Constant | ast.UnaryOp)]
    return len(others) == 1 and is_triangle(values, others[0], frame, depth + 1)


def _adds_dimensions(index: ast.expr) -> bool:
    """`[None, :]`, `[np.newaxis]`, `[:n, :n]`."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return all(
        isinstance(part, ast.Slice)
        or (isinstance(part, ast.Constant) and part.value in (None, ...))
        or (isinstance(part, ast.Attribute) and part.attr == "newaxis")
        for part in parts
    )
