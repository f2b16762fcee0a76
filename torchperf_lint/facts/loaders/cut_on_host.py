"""Batches that a training loop cuts out of a tensor or array in host memory, and copies one by one.

    data = torch.from_numpy(array)
    for i in range(0, len(data), 64):
        x = data[i : i + 64].to(device)              # or torch.from_numpy(array[i : i + 64]).to(device)

All of it crosses the bus in every epoch, and the host waits for each piece. What an object keeps, `scene.images[i]`, is
cut alike.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.put_into import written_into
from torchperf_lint.facts.copies.kept_by_objects import kept_by_object
from torchperf_lint.facts.copies.moves import span_of_loop
from torchperf_lint.facts.devices.blocking import is_blocking
from torchperf_lint.facts.devices.devices import moves_to_device, target_device
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import names_of
from torchperf_lint.facts.values.value import DEVICE, HOST, Value, tensor
from torchperf_lint.model import Confidence

_OF_ARRAYS = frozenset(
    f"torch.{name}" for name in "from_numpy tensor as_tensor Tensor FloatTensor DoubleTensor LongTensor".split()
)
_PLACED = ("tensor", "as_tensor")
_ARRAYS = frozenset(
    f"numpy.{name}"
    for name in "load array asarray concatenate stack vstack hstack arange linspace zeros ones".split()
) | frozenset(f"numpy.random.{name}" for name in "permutation randn rand normal uniform randint random".split())
"""What makes an array in memory; of `load`, where it is told no `mmap_mode`."""
_MAX_STEPS = 10
"""Conversions and names between a piece and its copy."""
_COUNTS = frozenset(
    "builtins.range tqdm.trange tqdm.auto.trange numpy.arange numpy.random.permutation random.sample".split()
)
_DRAWS = {
    "numpy.random.choice": 1,
    "numpy.random.randint": 2,
    "random.choice": 1,
    "random.randint": 2,
    "random.randrange": 3,
}
"""What draws one number, and with how many arguments at most: a further one is a size."""
_ASKED = frozenset("shape size dim ndim numel dtype nbytes device".split())
"""Attributes of a tensor or array that tell of it and leave it as it is."""


class CutOnHost(NamedTuple):
    """What a hot move takes out of a tensor or array that stays on the host."""

    site: Site
    whole: ast.Name | ast.Attribute
    value: Value
    """Of the piece."""
    array: bool
    """Whether the whole is an array of numpy, or a list, of which a tensor is made piece by piece."""
    rows: bool
    """Whether the piece is some rows in a row, which lie in pinned memory where the whole does; others are gathered."""


def cuts_on_host(file: SourceFile) -> Iterator[CutOnHost]:
    """The blocking copies of pieces in the loops of a file that train."""
    for site in file.hot_calls("to", "cuda", *_PLACED):
        found = cut_on_host(site) if is_blocking(site.call) else None
        if found is not None:
            yield found


def cut_on_host(site: Site) -> CutOnHost | None:
    """The tensor or array made before the training loop in sight that a move of its body cuts another piece from."""
    span = _loop_of(site)
    piece = _piece(site, span) if span is not None else None
    if span is None or piece is None:
        return None
    cut, maker = piece
    one = _is_one_by_number(site, cut.slice, span)
    walked = one or _is_walked(site, cut.slice, span) or _picks_in_turn(site, cut.slice, span)
    if not isinstance(cut.value, ast.Name | ast.Attribute) or not walked or not _moves(site):
        return None
    if isinstance(cut.value, ast.Attribute):
        kept = kept_by_object(site, cut.value, span) if maker is None else None
        rows = (one or isinstance(cut.slice, ast.Slice)) and not isinstance(site.receiver, ast.Call)
        return CutOnHost(site, cut.value, kept.weaker(Confidence.LIKELY), False, rows) if kept is not None else None
    value = _of_array(site, cut.value, maker) if maker is not None else _of_tensor(site, cut.value)
    if value is None or not _stays_as_it_is(site, cut.value, span):
        return None
    rows = (one or isinstance(cut.slice, ast.Slice)) and maker is None and not isinstance(site.receiver, ast.Call)
    return CutOnHost(site, cut.value, value, maker is not None, rows)


def _loop_of(site: Site) -> tuple[Position, Position] | None:
    """From where to where the training loop around a site turns; None where that is another function's.

    Where nothing trains, each piece crosses the bus once, whether alone or with the others.
    """
    trains = site.hot is not None and site.hot.kind == "step" and not site.hot.optional
    return span_of_loop(site) if trains else None


def _piece(site: Site, span: tuple[Position, Position]) -> tuple[ast.Subscript, ast.Call | None] | None:
    """`x[i:j]` of `x[i:j].to(d)` and `torch.from_numpy(x[i:j]).float().to(d)`, also by a name that the loop binds;
    and what makes a tensor of it, if anything does."""
    node = _bound(site, site.receiver, span) if last_part(site.record.callee) not in _PLACED else site.call
    for _ in range(_MAX_STEPS):  # `x = Variable(x)` may be bound by nothing but itself
        if not isinstance(node, ast.Call):
            break
        if isinstance(node.func, ast.Attribute) and node.func.attr in api.DERIVING:
            node = node.func.value
        elif _denotes(site, node, api.VARIABLES) and len(node.args) == 1:
            node = _bound(site, node.args[0], span)
        else:
            break
    maker = node if isinstance(node, ast.Call) and _denotes(site, node, _OF_ARRAYS) and node.args else None
    cut = _bound(site, maker.args[0], span) if maker is not None else node
    return (cut, maker) if isinstance(cut, ast.Subscript) else None


def _bound(site: Site, node: ast.expr | None, span: tuple[Position, Position]) -> ast.expr | None:
    """What a name stands for that is bound once, in the loop."""
    body = site.file.project.body(site.file.path)
    if not isinstance(node, ast.Name) or body is None:
        return node
    bound = body.assigned_once(site.function, node.id, body.at(node))
    return bound if bound is not None and span[0] <= body.at(bound) < span[1] else None


def _denotes(site: Site, node: ast.Call, functions: frozenset[str]) -> bool:
    thing = site.file.project.values.thing(node.func, site.frame)
    return thing is not None and thing.dotted in functions


def _of_array(site: Site, whole: ast.Name, maker: ast.Call) -> Value | None:
    """Of an array that is known to lie in memory, all of it: one on disk, or a class that reads, may be larger."""
    body = site.file.project.body(site.file.path)
    made = body.assigned_once(site.function, whole.id, body.at(whole)) if body is not None else None
    if not isinstance(made, ast.Call) or any(k.arg in ("mmap_mode", None) for k in made.keywords):
        return None
    thing = site.file.project.values.thing(made.func, site.frame)
    if thing is None or thing.dotted not in _ARRAYS or (thing.dotted == "numpy.load" and len(made.args) > 1):
        return None
    because = f"made on the host by `{ast.unparse(maker.func)}` (line {maker.lineno}), of a piece in each turn"
    return tensor(HOST, because, Confidence.LIKELY)


def _of_tensor(site: Site, whole: ast.Name) -> Value | None:
    value = site.file.value(whole, site)
    body = site.file.project.body(site.file.path)
    made = body.reaching(site.function, whole.id, body.at(whole)) if body is not None else None
    if not made or any(d.value is None or "pin_memory" in ast.unparse(d.value) for d in made):
        return None
    known = value.kind == "tensor" and value.device == HOST and value.confidence.at_least(Confidence.LIKELY)
    return value.weaker(Confidence.LIKELY) if known and not value.origins else None


def _moves(site: Site) -> bool:
    values = site.file.project.values
    if last_part(site.record.callee) in _PLACED:
        return target_device(values, site.call, site.frame) == DEVICE
    return moves_to_device(values, site.call, site.frame)


def _is_walked(site: Site, index: ast.expr, span: tuple[Position, Position]) -> bool:
    """Whether some slice of an index begins or ends where a name of the loop says: `i : i + n`, `:, i:j`."""
    body = site.file.project.body(site.file.path)
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    bounds = [bound for part in parts if isinstance(part, ast.Slice) for bound in (part.lower, part.upper)]
    named = names_of(*(bound for bound in bounds if bound is not None))
    definitions = body.definitions(site.function) if body is not None else {}
    return any(span[0] <= d.at < span[1] for name in named for d in definitions.get(name, ()))


def _picks_in_turn(site: Site, index: ast.expr, span: tuple[Position, Position]) -> bool:
    """`order[i : i + n]`, the next places of an order; what is drawn in each turn may be of a buffer that grows."""
    chosen = _bound(site, index, span)
    return isinstance(chosen, ast.Subscript) and _is_walked(site, chosen.slice, span)


def _is_one_by_number(site: Site, index: ast.expr, span: tuple[Position, Position]) -> bool:
    """Whether an index takes one element, of a number that the loop counts or draws: `x[i]`, `poses[i, :3]`."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    first, rest = (parts[0], parts[1:]) if parts else (None, [])
    body = site.file.project.body(site.file.path)
    if body is None or not isinstance(first, ast.Name) or not all(map(_is_fixed, rest)):
        return False
    bound = [d for d in body.definitions(site.function).get(first.id, ()) if span[0] <= d.at < span[1]]
    return bool(bound) and all(_numbers(site, d) for d in bound)


def _is_fixed(index: ast.expr) -> bool:
    """A constant or a slice between constants."""
    bounds = (index.lower, index.upper, index.step) if isinstance(index, ast.Slice) else (index,)
    return all(bound is None or isinstance(bound, ast.Constant) for bound in bounds)


def _numbers(site: Site, definition: Definition) -> bool:
    """Whether a binding gives whole numbers, of Python or numpy: the turns of a range or an order, or one drawn."""
    made, body = definition.value, site.file.project.body(site.file.path)
    if isinstance(made, ast.Name) and body is not None and definition.how == "loop":
        made = body.assigned_once(site.function, made.id, body.at(made))  # `order = np.arange(n)`, shuffled or not
    thing = site.file.project.values.thing(made.func, site.frame) if isinstance(made, ast.Call) else None
    if not isinstance(made, ast.Call) or thing is None:
        return False
    if definition.how == "loop":
        return thing.dotted in _COUNTS
    limit = _DRAWS.get(thing.dotted, 0)
    return definition.how == "assign" and len(made.args) <= limit and not made.keywords


def _stays_as_it_is(site: Site, whole: ast.Name, span: tuple[Position, Position]) -> bool:
    """Whether nothing that is seen changes the whole: the loop only asks it for pieces, which nobody writes into.

    What has another name, or is handed to a function of the loop, may be changed there.
    """
    body, name = site.file.project.body(site.file.path), whole.id
    if body is None:
        return False
    bound = [definition.at for definition in body.definitions(site.function).get(name, ())]
    written = [body.at(target) for target, _ in written_into(body, site.function, name)]
    if any(span[0] <= at < span[1] for at in (*bound, *written)):
        return False
    parents = site.file.enclosing(site.function).parents
    return all(_only_asks(site, body, parents, read, span) for read in body.reads(site.function, name))


def _only_asks(
    site: Site, body: Body, parents: dict[ast.AST, ast.AST], read: ast.Name, span: tuple[Position, Position]
) -> bool:
    parent = parents.get(read)
    if parent is None:  # in a function of its own, which may run whenever
        return False
    if isinstance(parent, ast.Subscript) and parent.value is read:
        return isinstance(parent.ctx, ast.Load) and not _is_written_to(site, body, parents, parent)
    if isinstance(parent, ast.Attribute):
        return parent.attr in _ASKED
    within = span[0] <= body.at(read) < span[1]
    if isinstance(parent, ast.Call) and read in parent.args:
        return not within or chain(parent.func) in ("len", "range", "enumerate")
    return not within and not isinstance(parent, ast.Assign | ast.AnnAssign | ast.NamedExpr | ast.Global)


def _is_written_to(site: Site, body: Body, parents: dict[ast.AST, ast.AST], piece: ast.Subscript) -> bool:
    """Whether something is stored in a piece of the whole, where it stands or by its name, or done to it in place."""
    parent = parents.get(piece)
    if isinstance(parent, ast.Subscript | ast.Attribute) and parent.value is piece:
        called = isinstance(parent, ast.Attribute) and parent.attr.endswith("_") and not parent.attr.startswith("_")
        return called or not isinstance(parent.ctx, ast.Load)
    if isinstance(parent, ast.AugAssign):
        return parent.target is piece
    if not isinstance(parent, ast.Assign):
        return False
    named = names_of(*parent.targets)
    stored = any(True for name in named for _ in written_into(body, site.function, name))
    return stored or any(use.endswith("_") for name in named for use, _ in body.uses(site.function, name))
