"""Kind and device of an expression, with the evidence: the one place that decides what a value is.

Works on `ast` expressions in a frame (file, function, place). Unknown stays unknown. Evaluation follows assignments,
attributes, what functions return and what callers pass, however far; each of those is worked out once (fixpoint.py),
so it ends where values depend on each other. What is followed without being kept is followed up to fixed depths.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey, Index, Thing
from torchperf_lint.facts.call_graph.types import Types
from torchperf_lint.facts.devices.copied_beside import on_host_among
from torchperf_lint.facts.devices.moved_in_place import InPlace, entry_of_moved
from torchperf_lint.facts.devices.step_batches import compared, one_tensor, takes_ranges
from torchperf_lint.facts.hotness.hotness import Hotness
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values import attributes, calls, iteration, names, put_by_callers, results, usage
from torchperf_lint.facts.values.entries import any_entry, entry_of, named_entries
from torchperf_lint.facts.values.graph_data import graph_data
from torchperf_lint.facts.values.made_numbers import made_a_number
from torchperf_lint.facts.values.named_tuples import as_parts
from torchperf_lint.facts.values.value import (
    ANYWHERE,
    DEVICE,
    HOST,
    MAX_HOPS,
    NOTHING,
    PLAIN,
    UNKNOWN,
    Frame,
    Value,
    alike,
    join,
    mapping,
    sequence,
    unpacked,
)
from torchperf_lint.fixpoint import Fixpoint

MAX_DEPTH = 20
"""Expressions nested in each other before a value counts as unknown."""
_FARTHEST = 2 * MAX_HOPS
"""Hops after which nothing more is told, by whatever way a function comes back to itself."""
_WITHIN = 3
"""Hops that what is kept begins with: it is worked out for another, and what is not kept is not followed as far."""


class Values:
    """Evaluates expressions of one project; answers about names are kept."""

    def __init__(self, index: Index, types: Types, hotness: Hotness, body: Callable[[str], Body | None]) -> None:
        self.index = index
        self.types = types
        self.hotness = hotness
        self.body = body
        self._kept: Fixpoint[Frame, Value] = Fixpoint(NOTHING, alike)
        self._answers: dict[tuple[str | ast.expr, Frame], Value] = {}
        """Name, or expression, and place -> its value, of names, calls and what rules ask about."""
        self.moved: dict[tuple[str, int], frozenset[str]] = {}
        """(path, function) -> the names that it moves to a device; moved_names.py fills it."""
        self.moved_in_place: dict[FunctionKey, tuple[InPlace, ...]] = {}
        """Function -> what it moves entry by entry; moved_in_place.py fills it."""
        self.plain_returned: dict[FunctionKey, Value | None] = {}
        """Function -> what it returns, where it says that this is plain; results.py fills it."""
        self.attributes_set: dict[tuple[Thing, FunctionKey], frozenset[str]] = {}
        """(class, method) -> the attributes of its object that it sets; assigned_before.py fills it."""
        self.setting_methods: dict[Thing, list[int]] = {}
        """Class -> its methods that set attributes, two of a dozen; attributes.py fills it."""
        self.defaults_set: dict[str, bool] = {}
        """Path -> whether the file sets a default device; defaults.py fills it."""
        self.default_setters: frozenset[str] | None = None
        """The folders of files that make the device the default; defaults.py fills it."""
        self.classes_by_words: dict[str, list[Thing]] | None = None
        """Class name in small letters -> the classes called so; called_after_class.py fills it."""
        self.engine_runs: dict[FunctionKey, list[tuple[ast.expr, Frame]]] | None = None
        """Update function of an ignite engine -> (argument, place) of each `run`; engine_batches.py fills it."""
        self.fitting_calls: dict[FunctionKey, Sequence[CallSite]] = {}
        """Function -> the calls by which it can have been called; fitting_calls.py fills it."""
        self.default_scripts: dict[str, frozenset[str]] | None = None
        """Path -> how the scripts that run the file always do; defaults.py fills it."""

    def of(self, node: ast.expr, frame: Frame) -> Value:
        """The value of an expression."""
        if frame.depth > MAX_DEPTH or frame.hops > _FARTHEST:
            return UNKNOWN
        kind = type(node)
        if kind is ast.Constant:
            return PLAIN
        # What is asked about again is kept: of several rules each asks about half of what another asked about. One in
        # five names is, too, and one in four calls: each of the names that `a, b = f(x)` binds is what the call gives.
        if kind is ast.Name:
            key: tuple[str | ast.expr, Frame] = (node.id, frame)  # type: ignore[attr-defined]
        elif kind is ast.Call or not (frame.depth or frame.hops):
            key = (node, frame)
        else:
            return self._evaluated(node, frame)
        known = self._answers.get(key)
        if known is not None:
            return known
        if kind is ast.Name:
            value, settled = self._kept.of(names.value_of_name, self, key[0], frame)
        else:
            value, settled = self._kept.of(self._evaluated, node, frame)
        if settled:
            self._answers[key] = value
        return value

    def _evaluated(self, node: ast.expr, frame: Frame) -> Value:
        handler = _HANDLERS.get(type(node))
        return handler(self, node, frame.deeper()) if handler else UNKNOWN

    def thing(self, node: ast.expr, frame: Frame) -> Thing | None:
        """What class, function or external name an expression denotes."""
        return self.types.thing(frame.path, frame.function, chain(node))

    def remembered(self, key: object, frame: Frame, compute: Callable[[Frame], Value]) -> Value:
        """The value kept under `key`; `compute` works it out at the place of a frame that it is given.

        A value that depends on itself is worked out from what it does not depend on: `NOTHING` stands for it.
        """
        settled = self._kept.settled.get(key)
        if settled is not None:
            return settled
        return self._kept.answer(key, Frame(frame.path, frame.function, frame.at, 0, _WITHIN), compute)

    # -- expressions -------------------------------------------------------------------------------

    def container(self, node: ast.List | ast.Tuple | ast.Set, frame: Frame) -> Value:
        """A literal list, tuple or set."""
        items = tuple(self.of(element, frame) for element in node.elts[:8] if not isinstance(element, ast.Starred))
        exact = isinstance(node, ast.Tuple | ast.List) and len(items) == len(node.elts)
        return sequence(join(items) if items else UNKNOWN, items if exact else ())

    def mapping(self, node: ast.Dict, frame: Frame) -> Value:
        """A literal dict."""
        items = [self.of(element, frame) for element in node.values[:8]]
        for place, key in enumerate(node.keys[:8]):
            if key is None and items[place].kind == "sequence":  # `{**other}` holds what that holds
                items[place] = items[place].item or UNKNOWN
        return mapping(any_entry(items) if items else UNKNOWN, named_entries(node, items))

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp, frame: Frame) -> Value:
        """What a comprehension yields."""
        return sequence(self.of(node.elt, frame._replace(at=self._place(node.elt, frame))))

    def dict_comprehension(self, node: ast.DictComp, frame: Frame) -> Value:
        """A dict of what the comprehension yields."""
        return mapping(self.of(node.value, frame._replace(at=self._place(node.value, frame))))

    def _place(self, node: ast.expr, frame: Frame) -> Position:
        body = self.body(frame.path)
        return body.at(node) if body is not None and node.lineno >= frame.at[0] else frame.at

    def attribute(self, node: ast.Attribute, frame: Frame) -> Value:
        """`base.name`."""
        return attributes.value_of_attribute(self, node, frame)

    def call(self, node: ast.Call, frame: Frame) -> Value:
        """A call."""
        return calls.value_of_call(self, node, frame)

    def subscript(self, node: ast.Subscript, frame: Frame) -> Value:
        """`base[index]`."""
        base = self.of(node.value, frame)
        entry = entry_of(self, node, base, frame)
        if entry is not None:
            return entry if entry.kind != "unknown" else usage.value_by_uses(self, node, frame)
        if base.kind == "sequence":
            found = iteration.taken_by(base, node.slice)
            return found if found.kind != "unknown" else usage.value_by_uses(self, node, frame)
        if base.kind == "batch" and base.device == DEVICE:
            base = entry_of_moved(node, base)
            used = takes_ranges(node) or usage.value_by_uses(self, node, frame).kind == "tensor"
            return one_tensor(base) if used else base
        if base.kind in ("tensor", "batch", "array", "module", "plain"):
            return base
        if base.kind == "loader":
            return UNKNOWN
        whole = as_parts(self, base, frame)
        if whole.kind == "sequence":
            return iteration.taken_by(whole, node.slice)
        if base.kind == "object" and base.thing is not None and base.thing.kind == "instance":
            return results.returned(self, self.index.method(base.thing, "__getitem__"), frame)
        of_graph = graph_data(self.index.outlines[frame.path], node, base)
        if of_graph is not None:
            return of_graph
        return put_by_callers.entry_of_unknown(self, node, frame) if base.kind == "unknown" else UNKNOWN

    def binary(self, node: ast.BinOp, frame: Frame) -> Value:
        """Arithmetic: with a tensor on either side the result is one, where the tensor on a device is."""
        if isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant | ast.JoinedStr):
            return PLAIN
        if isinstance(node.op, ast.Mult) and isinstance(node.left, ast.List | ast.Tuple):
            repeated = self.of(node.left, frame)._replace(items=())  # `[x] * n`, whatever says how often
            if isinstance(node.left, ast.List) or repeated.item == PLAIN:
                return repeated  # of `x if isinstance(x, tuple) else (x,) * 2` the other branch tells more
        # Long sums nest to the left: walk down the spine instead of recursing into it.
        operands = [node.right]
        spine: ast.expr = node.left
        while isinstance(spine, ast.BinOp):
            operands.append(spine.right)
            spine = spine.left
        operands.append(spine)
        found = combined([self.of(operand, frame) for operand in reversed(operands[-12:])])
        return on_host_among(self, found, self._with_bound(operands, frame), frame)

    def _with_bound(self, operands: Iterable[ast.expr], frame: Frame) -> Iterator[ast.expr]:
        """Operands, and what the names among them are bound to by one line above: `reward = reward.cpu()`."""
        body = self.body(frame.path)
        for operand in operands:
            yield operand
            if body is None or not isinstance(operand, ast.Name):
                continue
            found = [d for d in body.reaching(frame.function, operand.id, frame.at) or () if d.how != "augmented"]
            if len(found) == 1 and found[0].how == "assign" and found[0].value is not None:
                yield found[0].value

    def unary(self, node: ast.UnaryOp, frame: Frame) -> Value:
        """`-x`, `~x`; `not x` is a bool."""
        return PLAIN if isinstance(node.op, ast.Not) else self.of(node.operand, frame)

    def compare(self, node: ast.Compare, frame: Frame) -> Value:
        """A comparison with a tensor is a tensor; `is` and `in` never are."""
        if any(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in node.ops):
            return PLAIN
        sides = (node.left, *node.comparators[:2])
        given = [self.of(side, frame) for side in sides]
        found = _with_batch(given) or combined(given)
        found = compared(on_host_among(self, found, self._with_bound(sides, frame), frame))
        return found if found.kind in ("tensor", "batch", "array") else PLAIN if found.kind == "plain" else UNKNOWN

    def boolean(self, node: ast.BoolOp, frame: Frame) -> Value:
        """`a or b` is one of its operands."""
        return join([self.of(value, frame) for value in node.values[:4]])

    def conditional(self, node: ast.IfExp, frame: Frame) -> Value:
        """`a if test else b` is one of the two."""
        sides = [self.of(node.body, frame), self.of(node.orelse, frame)]
        return PLAIN if PLAIN in sides and made_a_number(node) else join(sides)

    def walrus(self, node: ast.NamedExpr, frame: Frame) -> Value:
        """`name := value`."""
        return self.of(node.value, frame)

    def starred(self, node: ast.Starred | ast.Await, frame: Frame) -> Value:
        """`*x` and `await x` pass on what they hold."""
        return self.of(node.value, frame)

    # -- iteration ---------------------------------------------------------------------------------

    def element(self, value: Value, frame: Frame, index: tuple[int, ...] = ()) -> Value:
        """One element of what a loop iterates, then unpacked along `index`."""
        return unpacked(iteration.element(self, value, frame), index)


_PREFERENCE = (DEVICE, HOST, ANYWHERE)


def combined(values: list[Value]) -> Value:
    """What arithmetic on these gives.

    That all of them are on the host, or plain, only what is known of each can say.
    """
    known = [value for value in values if value.kind != "nothing"]
    found = _combined(known)
    open_yet = len(known) < len(values) and (found.kind == "plain" or (found.kind == "tensor" and found.device == HOST))
    return NOTHING if open_yet else found


def _with_batch(values: list[Value]) -> Value | None:
    """What comparing a tensor of a module with a batch that nobody moved gives: both are where the module is.

    A loader hands batches out on the host, unless its data set lies on the device; the two would not compare otherwise.
    """
    batches = [value for value in values if value.kind == "batch" and value.device == HOST]
    tensors = [value for value in values if value.kind == "tensor" and value.device == ANYWHERE]
    return tensors[0] if batches and tensors and len(batches) + len(tensors) == len(values) else None


def _combined(values: list[Value]) -> Value:
    if not values:
        return NOTHING
    if any(value.kind == "array" for value in values):
        return _with_arrays(values)
    tensors = [value for value in values if value.kind in ("tensor", "batch")]
    if tensors:
        best = min(tensors, key=lambda value: (_PREFERENCE.index(value.device), value.confidence.rank))
        hosts = all(value.device == HOST for value in tensors)
        if best.kind == "batch" and best.device == HOST:
            return best
        best = one_tensor(best) if any(value.kind == "tensor" for value in tensors) else best
        return best if hosts or best.device != HOST else best._replace(device=ANYWHERE)
    if all(value.kind == "plain" for value in values):
        return PLAIN
    if all(value.kind == "sequence" for value in values):
        return sequence(join([value.item or UNKNOWN for value in values]))
    return UNKNOWN


def _with_arrays(values: list[Value]) -> Value:
    """What arithmetic of numpy's arrays and numbers gives: beside tensors a tensor, where all of those are.

    A tensor on a device takes no array but a single number; of one that may be anywhere nothing is known.
    """
    tensors = [value for value in values if value.kind in ("tensor", "batch")]
    if not tensors:
        return _first(values, "array")
    devices = {value.device for value in tensors}
    known = len(devices) == 1 and ANYWHERE not in devices and all(value.kind == "tensor" for value in tensors)
    return min(tensors, key=lambda value: value.confidence.rank) if known else UNKNOWN


def _first(values: list[Value], kind: str) -> Value:
    return next(value for value in values if value.kind == kind)


def _plain(_values: Values, _node: ast.expr, _frame: Frame) -> Value:
    return PLAIN


_HANDLERS: dict[type[ast.expr], Callable[[Values, Any, Frame], Value]] = {
    ast.JoinedStr: _plain,
    ast.List: Values.container,
    ast.Tuple: Values.container,
    ast.Set: Values.container,
    ast.Dict: Values.mapping,
    ast.ListComp: Values.comprehension,
    ast.SetComp: Values.comprehension,
    ast.GeneratorExp: Values.comprehension,
    ast.DictComp: Values.dict_comprehension,
    ast.Attribute: Values.attribute,
    ast.Call: Values.call,
    ast.Subscript: Values.subscript,
    ast.BinOp: Values.binary,
    ast.UnaryOp: Values.unary,
    ast.Compare: Values.compare,
    ast.BoolOp: Values.boolean,
    ast.IfExp: Values.conditional,
    ast.NamedExpr: Values.walrus,
    ast.Starred: Values.starred,
    ast.Await: Values.starred,
}
