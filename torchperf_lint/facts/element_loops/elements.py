"""Loops over the elements of a device tensor."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.element_loops.doubts import doubt
from torchperf_lint.facts.element_loops.elements_by_helper import by_helper, doubt_of
from torchperf_lint.facts.element_loops.rows import filled_elements, fills_row, fills_up_to
from torchperf_lint.facts.element_loops.single import is_length, is_one_tensor, is_tensor
from torchperf_lint.facts.element_loops.turns import Comprehension, Turn
from torchperf_lint.facts.files.source import Place, SourceFile
from torchperf_lint.facts.hotness.loop import FEW_TURNS
from torchperf_lint.facts.outlines.guards import literal_turns
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_literal
from torchperf_lint.facts.syntax.syntax import first_part
from torchperf_lint.facts.syntax.torch_api import SEQUENCE_METHODS
from torchperf_lint.facts.values.value import Value
from torchperf_lint.patterns import pattern

LOOPS = (ast.For, ast.ListComp, ast.SetComp, ast.GeneratorExp)
_WRAPPERS = frozenset({"enumerate", "zip", "tqdm", "trange", "reversed", "iter", "set", "list", "tuple"})
_MOVES = frozenset("to cuda type_as float long int half double bool type requires_grad_".split())
_CHANNELS = pattern(r"^_?(?:num|n)_?(?:classes|class|cls|labels|categories|channels)$|^nclass$|^nc$", re.IGNORECASE)
_MAKERS = frozenset("zeros ones empty full new_zeros new_ones new_empty new_full".split())


class ElementLoop(NamedTuple):
    """A loop whose turns each work on one element of a tensor."""

    iterated: ast.expr
    """What the loop goes over, as written."""
    tensor: ast.expr
    """What its turns take elements from."""
    value: Value
    """That tensor."""
    reads: bool
    """Whether turns read numbers on the host."""
    doubt: str | None
    """Why turns may have no batched form: in a few words, None where nothing speaks against one."""
    fills: bool = False
    """Whether turns do nothing but put one number into elements: a slice takes it at once."""
    border: bool = False
    """Whether it goes over a part of the elements, no longer than a number says: `range(min(len(x), n))`."""


def element_loop(file: SourceFile, place: Place) -> ElementLoop | None:
    """The element loop that a loop or comprehension is; None for any other loop."""
    loop = place.expression
    if not isinstance(loop, LOOPS):
        return None
    target, iterated = (loop.target, loop.iter) if isinstance(loop, ast.For) else _first(loop)
    turns = _names_for_results(file, place) or literal_turns(iterated)
    if turns is not None and turns <= FEW_TURNS:
        return None
    turn = Turn(file, place, loop, target)
    by_row = not _is_range(iterated)
    tensor = _by_row(file, place, iterated) if by_row else _by_index(file, place, turn, iterated)
    tensor = _by_place(file, place, turn, iterated) if tensor is None and by_row else tensor
    value = on_device(file, place, tensor) if tensor is not None else None
    if tensor is not None and value is not None and (turn.works() or _only_fills(turn, iterated)):
        border = not by_row and _is_border(file, place, iterated)
        return ElementLoop(iterated, tensor, value, turn.reads(), doubt(turn), border=border)
    if tensor is None and _is_range(iterated) and not turn.indexed:
        handed = _by_helper(file, place, turn, iterated)
        if handed is not None:
            return handed
    return _row_filler(file, place, turn, iterated) or _element_filler(file, place, loop)


def _by_helper(file: SourceFile, place: Place, turn: Turn, iterated: ast.expr) -> ElementLoop | None:
    """`[score(x, t) for t in range(len(x))]`, where `score` takes `x[t]`."""
    ranged = _unwrapped(iterated)[0]
    assert isinstance(ranged, ast.Call)
    if not ranged.args or not isinstance(turn.target, ast.Name):
        return None
    if not is_length(file, place, ranged.args[0] if len(ranged.args) == 1 else ranged.args[1]):
        return None
    for tensor, helper in by_helper(turn):
        value = on_device(file, place, tensor) if is_one_tensor(file, place, tensor) else None
        if value is not None and value.kind == "tensor" and helper.works():
            return ElementLoop(iterated, tensor, value, helper.reads(), doubt(turn) or doubt_of(helper))
    return None


def _only_fills(turn: Turn, iterated: ast.expr) -> bool:
    """`out[i] = ...` in a loop over numbers, which takes no element of anything: each turn starts a kernel to store."""
    return _is_range(iterated) and not turn.indexed


def _names_for_results(file: SourceFile, place: Place) -> int | None:
    """How many names take what a comprehension gives: `q1, q2 = [q.mean() for q in critics(x)]`; None for a list."""
    parent = file.enclosing(place.function).parents.get(place.expression)
    targets = parent.targets if isinstance(parent, ast.Assign) and parent.value is place.expression else []
    named = [len(t.elts) for t in targets if isinstance(t, ast.Tuple | ast.List)]
    starred = any(isinstance(e, ast.Starred) for t in targets if isinstance(t, ast.Tuple | ast.List) for e in t.elts)
    return named[0] if named and not starred else None


def _element_filler(file: SourceFile, place: Place, loop: ast.expr | ast.AST) -> ElementLoop | None:
    """`for i in range(0, h, 2): for j in range(0, w, 2): mask[:, i, j] = 1`: loops that only put one number in."""
    filled = filled_elements(loop) if isinstance(loop, ast.For) and _is_range(loop.iter) else None
    if filled is None or not isinstance(loop, ast.For) or not isinstance(filled, ast.Name | ast.Attribute):
        return None
    value = on_device(file, place, filled)
    if value is None or value.kind != "tensor" or not is_one_tensor(file, place, filled):
        return None
    return ElementLoop(loop.iter, filled, value, False, None, fills=True)


def _row_filler(file: SourceFile, place: Place, turn: Turn, iterated: ast.expr) -> ElementLoop | None:
    """`for i, n in enumerate(lengths): labels[i, :n] = -100`: a loop that does nothing but fill parts of rows."""
    if not isinstance(turn.loop, ast.For) or not _numbers_turns(iterated):
        return None
    own = [inner for node in turn.loop.body for inner in (node.body if isinstance(node, ast.If) else [node])]
    filled = [whole for node in own if (whole := fills_row(turn, node)) is not None]
    if not filled or any(isinstance(node, ast.For | ast.While) for node in turn.nodes):
        return None
    kept = {ast.dump(whole) for whole in filled}
    value = on_device(file, place, filled[0]) if len(kept) == 1 else None
    if value is None or value.kind != "tensor" or not is_one_tensor(file, place, filled[0]):
        return None
    return ElementLoop(iterated, filled[0], value, turn.reads(), doubt(turn))


def _numbers_turns(node: ast.expr) -> bool:
    """`range(n)`, and `enumerate(x)`."""
    return _is_range(node) or (isinstance(node, ast.Call) and chain(node.func) == "enumerate")


def _first(loop: Comprehension) -> tuple[ast.expr, ast.expr]:
    return loop.generators[0].target, loop.generators[0].iter


def _unwrapped(node: ast.expr) -> list[ast.expr]:
    """What a loop goes over, without `enumerate` and progress bars; of `zip` all."""
    while isinstance(node, ast.Call) and last_part(chain(node.func)) in _WRAPPERS and node.args:
        if chain(node.func) == "zip":
            return [part for argument in node.args for part in _unwrapped(argument)]
        node = node.args[0]
    return [node]


def _is_range(node: ast.expr) -> bool:
    inner = _unwrapped(node)[0]
    return isinstance(inner, ast.Call) and chain(inner.func) == "range"


def _by_index(file: SourceFile, place: Place, turn: Turn, iterated: ast.expr) -> ast.expr | None:
    """`for i in range(x.size(0))`, and `x[i]` in its body: what is indexed."""
    ranged = _unwrapped(iterated)[0]
    assert isinstance(ranged, ast.Call)
    if not ranged.args or not isinstance(turn.target, ast.Name):
        return None
    bound = ranged.args[0] if len(ranged.args) == 1 else ranged.args[1]
    if len(ranged.args) == 1 and not turn.indexed:
        return _filled(file, place, turn, bound)
    if not turn.indexed or not (is_length(file, place, bound) or _counts_channels(turn, bound)):
        return None
    found = (s for s in turn.indexed if isinstance(s.slice, ast.Tuple) or is_one_tensor(file, place, s.value))
    filled = (node.value for node in turn.nodes if isinstance(node, ast.Subscript) and fills_up_to(turn, node))
    candidates = (*(s.value for s in found), *filled)
    return next((whole for whole in candidates if on_device(file, place, whole) is not None), None)


def _is_border(file: SourceFile, place: Place, iterated: ast.expr) -> bool:
    """`n = min(a.shape[-1], b.shape[-1], n)`, and `for i in range(n)`: where two tensors overlap, say."""
    ranged, body = _unwrapped(iterated)[0], file.project.body(file.path)
    bound = ranged.args[-1] if isinstance(ranged, ast.Call) and len(ranged.args) == 1 else None
    if isinstance(bound, ast.Name) and body is not None:
        bound = body.assigned_once(place.function, bound.id, body.at(bound))
    return isinstance(bound, ast.Call) and chain(bound.func) == "min"


def _counts_channels(turn: Turn, bound: ast.expr) -> bool:
    """`for c in range(self.num_classes)`, where turns take `x[:, c]`: that many channels has what they take from."""
    if not _CHANNELS.search(last_part(chain(bound))):
        return False
    behind = [s for s in turn.indexed if isinstance(s.slice, ast.Tuple) and not turn.is_index(first_part(s.slice))]
    return any(isinstance(first_part(s.slice), ast.Slice) for s in behind)


def _filled(file: SourceFile, place: Place, turn: Turn, bound: ast.expr) -> ast.expr | None:
    """`out = torch.zeros(n)`, and `out[i] = ...` in the body of `for i in range(n)`: what is filled."""
    for node in turn.nodes:
        if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Store):
            continue
        index, whole = _first_of_whole(node.slice), node.value
        one = isinstance(index, ast.Name) and index.id in turn.variables and isinstance(whole, ast.Name)
        if one and _has_length(file, place, whole, bound) and on_device(file, place, whole) is not None:
            return whole
    return None


def _first_of_whole(index: ast.expr) -> ast.expr:
    """`i` of `out[i]`, and of `out[i, :, 0]`, which leaves none of the other dimensions to the turn."""
    first, *others = index.elts if isinstance(index, ast.Tuple) and index.elts else [index]
    whole = all(
        isinstance(part, ast.Constant) or (isinstance(part, ast.Slice) and part.lower is part.upper is part.step)
        for part in others
    )
    return first if whole else index


def _has_length(file: SourceFile, place: Place, name: ast.expr, length: ast.expr) -> bool:
    """Whether a name was bound to a tensor made with just this first size."""
    body = file.project.body(file.path)
    if not isinstance(name, ast.Name):
        return False
    reaching = body.reaching(place.function, name.id, file.span(name)[0]) or [] if body is not None else []
    bound = [d.value for d in reaching if d.how == "assign"]
    made = [call for value in bound if isinstance(call := _below_moves(value), ast.Call)]
    if len(made) != 1 or last_part(chain(made[0].func)) not in _MAKERS or not made[0].args:
        return False
    size = made[0].args[0]
    first = size.elts[0] if isinstance(size, ast.Tuple | ast.List) and size.elts else size
    return ast.dump(first) == ast.dump(length)


def _below_moves(node: ast.expr | None) -> ast.expr | None:
    """What is moved or converted: `torch.zeros(n)` of `torch.zeros(n).to(device)`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MOVES:
        node = node.func.value
    return node


def _by_row(file: SourceFile, place: Place, iterated: ast.expr) -> ast.expr | None:
    """`for row in x`: what is walked; of `zip` the first, where all are tensors."""
    nodes = [_below_unbind(file, place, node) for node in _unwrapped(iterated)]
    if any(_is_split(file, place, node) or _gives_several(node) for node in nodes):
        return None
    if not all(is_one_tensor(file, place, node) and is_tensor(file, place, node) for node in nodes):
        return None
    return next((node for node in nodes if on_device(file, place, node) is not None), None)


def _by_place(file: SourceFile, place: Place, turn: Turn, iterated: ast.expr) -> ast.expr | None:
    """`for i, j in enumerate(places)`, of places that the host has, and `x[i, j]` in its body: what is picked from."""
    if not isinstance(iterated, ast.Call) or chain(iterated.func) != "enumerate" or len(iterated.args) != 1:
        return None
    if not isinstance(turn.target, ast.Tuple) or len(turn.variables) != len(turn.target.elts):
        return None
    places = iterated.args[0]
    picked = [s.value for s in turn.indexed if turn.variables <= {p.id for p in _parts(s) if isinstance(p, ast.Name)}]
    if not picked or not is_tensor(file, place, places) or not is_one_tensor(file, place, places):
        return None
    return next((whole for whole in picked if on_device(file, place, whole) is not None), None)


def _parts(node: ast.Subscript) -> list[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _below_unbind(file: SourceFile, place: Place, node: ast.expr) -> ast.expr:
    """`x` of `x.unbind()` and `torch.unbind(x, 0)`: its rows; what lies along other axes are a few as often as not."""
    if not isinstance(node, ast.Call) or last_part(chain(node.func)) != "unbind":
        return node
    of_torch = file.denotes(node.func, place) == "torch.unbind"
    if not of_torch and not isinstance(node.func, ast.Attribute):
        return node
    whole, *others = node.args if of_torch and node.args else [getattr(node.func, "value", node), *node.args]
    axis = [*others, *(k.value for k in node.keywords if k.arg == "dim")]
    return whole if all(is_literal(part, 0) for part in axis) else node


_PARTS = frozenset("parameters named_parameters buffers named_buffers modules children items keys values".split())


def _gives_several(node: ast.expr) -> bool:
    """`target.parameters()`, of a network that a helper is handed: several tensors, each of a shape of its own."""
    return isinstance(node, ast.Call) and last_part(chain(node.func)) in _PARTS


def _is_split(file: SourceFile, place: Place, node: ast.expr) -> bool:
    """Whether a name was bound to the parts of a tensor: `hidden = hidden.chunk(layers)`."""
    body = file.project.body(file.path)
    if body is None or not isinstance(node, ast.Name):
        return False
    reaching = body.reaching(place.function, node.id, file.span(node)[0]) or []
    made = [d.value for d in reaching if d.how == "assign" and not d.index]
    calls = [value for value in made if isinstance(value, ast.Call)]
    return bool(calls) and all(last_part(chain(call.func)) in SEQUENCE_METHODS for call in calls)
