"""The boxes of a detector's result, as ultralytics gives them: tensors on the device that the network ran on.

    for box in result.boxes:
        x1, y1, x2, y2 = box.xyxy[0].tolist()
        found.append((int(box.cls[0]), float(box.conf[0]), x1, y1, x2, y2))

Told by what the loop reads of each: coordinates, and how sure the network is, or of what. Such boxes are rows of one
tensor, and have `cpu()` and `numpy()`, as tensors have. The network chooses a GPU by itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.syntax import nodes_of
from torchperf_lint.facts.values.value import DEVICE, UNKNOWN, Frame, Value, tensor
from torchperf_lint.model import Confidence

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

BOXES = "boxes"
_PLACES = frozenset({"xyxy", "xyxyn", "xywh", "xywhn"})
_JUDGED = frozenset({"conf", "cls"})
_DETECTED = "holds a detector's boxes of one image"
"""In the reason why such boxes are tensors."""
OF_A_BOX = _PLACES | _JUDGED
"""What is read of one of them, a row of a tensor of all."""


def detected_boxes(values: Values, node: ast.Attribute, frame: Frame) -> Value:
    """What `result.boxes` is where a loop of the function reads the boxes one by one; unknown anywhere else."""
    body = values.body(frame.path)
    function = body.functions.get(frame.function) if body is not None else None
    written = chain(node)
    if body is None or function is None or not written or "()" in written:
        return UNKNOWN  # `result.cpu().boxes`
    loops = (part for part in nodes_of(function) if isinstance(part, ast.For))
    through = (loop for loop in loops if _goes_through(loop.iter, written, body, frame))
    if not any(_is_read_as_one(loop, name) for loop in through for name in _names(loop.target)):
        return UNKNOWN
    because = f"`{written}` (line {node.lineno}) {_DETECTED}, as ultralytics gives them"
    return tensor(DEVICE, because, Confidence.LIKELY)


def _goes_through(iterated: ast.expr, written: str, body: Body, frame: Frame) -> bool:
    """`result.boxes`, `enumerate(result.boxes)`, or a name for it."""
    if isinstance(iterated, ast.Call) and chain(iterated.func) == "enumerate" and iterated.args:
        iterated = iterated.args[0]
    if isinstance(iterated, ast.Name):
        made = body.assigned_once(frame.function, iterated.id, body.at(iterated))
        return made is not None and chain(made) == written
    return chain(iterated) == written


def _names(target: ast.expr) -> Iterator[str]:
    return (part.id for part in ast.walk(target) if isinstance(part, ast.Name))


def _is_read_as_one(loop: ast.For, name: str) -> bool:
    """Whether a loop reads of its variable where a box is, and what is in it."""
    inside = (part for statement in loop.body for part in ast.walk(statement))
    read = {p.attr for p in inside if isinstance(p, ast.Attribute) and chain(p.value) == name}
    return bool(read & _PLACES) and bool(read & _JUDGED)
