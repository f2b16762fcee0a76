"""Masks of one sample among rows that lie together, and masks that can only be full.

    for b in range(batch_size):                                 best = scores.argmax(1)
        points = coords[batch_index == b]                       kept = ids[best >= 0, best]

A loop over the samples of a batch, or over the values of the index itself, `batch_index.unique()`, counts each one's
rows, and waits for each count: sorted by sample, one list of counts cuts them apart. A mask beside the numbers that it
was made of has to be full, or their shapes would not fit.
"""

from __future__ import annotations

import ast
import re

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.constants.tracing import Loop, bound_by
from torchperf_lint.facts.element_loops.doubts import comes_after_the_model
from torchperf_lint.facts.indexing.selections import INDICES, LOAD, Selection
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import names_of
from torchperf_lint.patterns import pattern

_SAMPLES = pattern(
    r"^(?:b|bs|bsz|n?_?batch(?:_?(?:size|sz|num))?|num_batch(?:es)?|num_(?:samples|graphs))$", re.IGNORECASE
)
"""Names of the number of samples in a batch."""
_SAMPLE = pattern(r"(?:^|_)(?:batch|samples?|graphs?)(?:_|$)", re.IGNORECASE)
"""Names of what says of which sample each row is; of classes and experts there are a few, one network for each."""


def is_by_group(selection: Selection) -> bool:
    """Whether each turn of a loop over the samples of a batch selects the rows of its sample, `index == b`."""
    spot = selection.spot
    if selection.form not in (LOAD, INDICES) or spot.hot.kind not in ("step", "forward"):
        return False
    if comes_after_the_model(spot.file.outline.functions[spot.function].qualname, spot.hot.kind):
        return False
    loop = next(spot.file.enclosing(spot.function).loops(spot.expression), None)
    if loop is None:
        return False
    index = _of_turn(selection, loop)
    return index is not None and (_counts_samples(loop) or _goes_through_values(loop, index))


def of_loop(selection: Selection, loop: Loop, index: ast.expr) -> bool:
    """Whether a selection is of the rows where an index has the value of a loop's turn, `x[index == value]`."""
    spot = selection.spot
    if not any(one is loop for one in spot.file.enclosing(spot.function).loops(spot.expression)):
        return False
    compared = _of_turn(selection, loop)
    return compared is not None and ast.dump(compared) == ast.dump(index)


def _of_turn(selection: Selection, loop: Loop) -> ast.expr | None:
    """The index of which a mask compares all values with that of a loop's turn, `index == value`."""
    mask, spot = _bound(selection), selection.spot
    if not isinstance(mask, ast.Compare) or len(mask.ops) != 1 or not isinstance(mask.ops[0], ast.Eq):
        return None
    sides = (mask.left, mask.comparators[0])
    turn = [side for side in sides if isinstance(side, ast.Name) and side.id == chain(loop.target)]
    index = next((side for side in sides if side not in turn), None)
    changed = bound_by(spot.file, spot.function, loop)
    return index if turn and index is not None and not names_of(index) & changed else None


def _goes_through_values(loop: Loop, index: ast.expr) -> bool:
    """`for b in batch_index.unique():`, and `torch.unique(batch_index)`."""
    called = loop.iter
    if not isinstance(called, ast.Call) or last_part(chain(called.func)) != "unique":
        return False
    if not any(_SAMPLE.search(last_part(chain(name))) for name in (index, loop.target)):
        return False
    of_function = chain(called.func) == "torch.unique" and bool(called.args)
    whole = called.args[0] if of_function else getattr(called.func, "value", None)
    return isinstance(whole, ast.expr) and ast.dump(whole) == ast.dump(index)


def _counts_samples(loop: Loop) -> bool:
    """`for b in range(batch_size):`."""
    called = loop.iter
    if not isinstance(called, ast.Call) or last_part(chain(called.func)) not in ("range", "trange"):
        return False
    return len(called.args) == 1 and bool(_SAMPLES.search(last_part(chain(called.args[0]))))


def _bound(selection: Selection) -> ast.expr | None:
    """A mask, or what the one assignment binds that gives it its name."""
    mask, spot = selection.mask, selection.spot
    if not isinstance(mask, ast.Name):
        return mask
    body = spot.file.project.body(spot.file.path)
    found: list[Definition] = list((body.reaching(spot.function, mask.id, body.at(mask)) or ()) if body else ())
    return found[0].value if len(found) == 1 and found[0].how == "assign" else None


def is_full(selection: Selection) -> bool:
    """`ids[best >= 0, best]`: a mask stands beside the numbers that it asks about, which are as many as it is long."""
    node, mask = selection.spot.expression, selection.mask
    if selection.form != LOAD or not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple):
        return False
    asked = mask.left if isinstance(mask, ast.Compare) else None
    return isinstance(asked, ast.Name) and any(
        isinstance(part, ast.Name) and part.id == asked.id for part in node.slice.elts
    )
