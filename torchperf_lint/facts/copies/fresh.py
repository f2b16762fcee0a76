"""Tensors made on the host only to be moved: `(1 - torch.eye(3)).float().to(device)`, also over several statements."""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchperf_lint.facts.bindings.gathered import gathered, gone_through
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.devices.defaults import default_device
from torchperf_lint.facts.devices.devices import destination, target_device
from torchperf_lint.facts.devices.distributions import DISTRIBUTIONS, drawn_on_host
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.arguments import moved_to
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.expressions_written import of_part
from torchperf_lint.facts.syntax.literals import is_literal
from torchperf_lint.facts.values.usage import counts_steps
from torchperf_lint.facts.values.value import DEVICE, HOST, MAX_HOPS, Frame, Value, tensor
from torchperf_lint.facts.values.values import Values
from torchperf_lint.model import Confidence

_JOINS = frozenset({"torch.cat", "torch.concat", "torch.stack", "torch.hstack", "torch.vstack"})
_REARRANGES = frozenset({"einops.rearrange", "einops.repeat", "einops.reduce"})
"""Give the same numbers in another shape, where they lie."""
_STEPS = 12
"""How far a tensor is followed back to its factory."""
_OF_LENGTHS = (".arange", ".randperm", ".eye")
"""Factories that take nothing but numbers: of a tensor, torch reads one."""
_OF_SIZES = frozenset({"zeros", "ones", "empty", "full", "rand", "randn"})
"""Factories whose first arguments are sizes; the 0 of `arange(0, n)` is none."""
_OF_NOTHING_BUT_SIZES = _OF_SIZES - {"full"}


class _Made(NamedTuple):
    call: ast.Call
    factory: str
    path: str
    """The file the call stands in."""


class Fresh(NamedTuple):
    """A tensor made on the host and moved at once."""

    factory: str
    device: str
    """The device as written."""
    random: bool
    value: Value
    call: ast.Call
    """The factory's call."""
    path: str
    """The file it stands in."""


def fresh_on_host(values: Values, node: ast.Call, frame: Frame) -> Fresh | None:
    """What `node`, a call of `to`, `cuda` or `type_as`, moves, when that was just made on the host; else None."""
    assert isinstance(node.func, ast.Attribute)
    # Little of what is moved was just made: where it goes is asked only of that.
    made = _origin(values, node.func.value, frame)
    if made is None or destination(values, node, frame)[0] != DEVICE:
        return None
    evident = node.func.attr == "cuda" or _evident(values, node, frame)
    return _fresh(made, frame, _written(values, node, frame), Confidence.CERTAIN if evident else Confidence.LIKELY)


def just_made(
    values: Values, node: ast.expr, frame: Frame, device: str, confidence: Confidence = Confidence.CERTAIN
) -> Fresh | None:
    """What is about to be copied to `device` (as written), when it was just made on the host; else None."""
    made = _origin(values, node, frame)
    return _fresh(made, frame, device, confidence) if made is not None else None


def _fresh(made: _Made, frame: Frame, device: str, confidence: Confidence) -> Fresh:
    call, factory, path = made
    place = f"line {call.lineno}" if path == frame.path else f"{path}:{call.lineno}"
    because = f"made on the host by `torch.{factory}` ({place})"
    return Fresh(factory, device, is_random(factory), tensor(HOST, because, confidence), call, path)


def _written(values: Values, node: ast.Call, frame: Frame) -> str:
    """The device as written: of a tensor that it is moved to, `x.device`."""
    written = destination(values, node, frame)[1]
    if written:
        return written
    return of_part(node.args[0], "device") if node.args else "..."


def _evident(values: Values, node: ast.Call, frame: Frame) -> bool:
    target = moved_to(node)
    if isinstance(target, ast.Constant):
        return True
    return target is not None and values.of(target, frame).kind == "torch_device"


def is_random(factory: str) -> bool:
    """Whether a factory draws random numbers."""
    return factory in api.RANDOM_FACTORIES or factory.startswith(("rand", DISTRIBUTIONS))


def _origin(values: Values, node: ast.expr, frame: Frame, steps: int = _STEPS) -> _Made | None:
    """The factory at the bottom of what only reshapes, converts, or computes with literal numbers."""
    found: ast.expr | None = node
    for left in reversed(range(steps)):
        if isinstance(found, ast.BinOp | ast.Compare | ast.Subscript):
            return _computed(values, found, frame, left)
        if not isinstance(found, ast.Call):
            listed = _listed(values, found, frame) if isinstance(found, ast.Name) else []
            if listed:
                return _first_of(values, listed, frame)
            found, frame = _below(values, found, frame)
            if found is None:
                return None
            continue
        factory = _factory(values, found, frame)
        if factory is not None:
            return _Made(found, factory, frame.path)
        below = _argument_below(values, found, frame)
        if below is None:
            return _joined(values, found, frame) or _returned(values, found, frame)
        found = below
    return None


def _below(values: Values, node: ast.expr | None, frame: Frame) -> tuple[ast.expr | None, Frame]:
    """What an expression that is no call is computed from, and where that is evaluated."""
    if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
        return node.operand, frame
    if isinstance(node, ast.Attribute) and node.attr in api.VIEW_ATTRIBUTES:
        return node.value, frame
    if isinstance(node, ast.Name):
        return _assigned_before(values, node, frame)
    return None, frame


def _computed(values: Values, node: ast.BinOp | ast.Compare | ast.Subscript, frame: Frame, steps: int) -> _Made | None:
    """The factory of what is computed with numbers, or cut, on the host.

    Factories are rare and found by their names; numbers are many, and to know one takes its value.
    """
    if isinstance(node, ast.BinOp):
        for one, other in ((node.left, node.right), (node.right, node.left)):
            made = _origin(values, one, frame, steps)
            if made is not None and _is_beside(values, other, frame, steps):
                return made
        return None
    if isinstance(node, ast.Subscript):
        part = _part(values, node, frame)
        if part is not None:
            return _origin(values, part[0], part[1], steps)
        made = _origin(values, node.value, frame, steps)
        if made is not None and made.factory == "eye":
            return made  # `torch.eye(classes)[labels]`: one-hot rows
        return made if made is not None and _cuts(values, node.slice, frame) else None
    if len(node.ops) != 1 or isinstance(node.ops[0], ast.In | ast.NotIn):
        return None
    made = _origin(values, node.left, frame, steps)
    return made if made is not None and _is_beside(values, node.comparators[0], frame, steps) else None


def _part(values: Values, node: ast.Subscript, frame: Frame) -> tuple[ast.expr, Frame] | None:
    """One of several that a name was bound to: `state = (torch.zeros(3), torch.zeros(3))`, then `state[0].cuda()`."""
    if not isinstance(node.value, ast.Name) or not isinstance(node.slice, ast.Constant):
        return None
    below, at = _assigned_before(values, node.value, frame)
    index = node.slice.value
    if not isinstance(below, ast.Tuple | ast.List) or not isinstance(index, int) or index >= len(below.elts):
        return None
    return below.elts[index], at


def _is_beside(values: Values, node: ast.expr, frame: Frame, steps: int) -> bool:
    """Whether the other operand is a number of the host, or was just made there as well.

    A tensor on the device is it not, as torch computes nothing with that and one on the host: a name of which nothing
    is known will be a number.
    """
    if _is_number(values, node, frame) or _origin(values, node, frame, steps) is not None:
        return True
    return values.of(node, frame).kind in ("unknown", "object")


def _is_number(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether an operand is a number of the host."""
    if isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant):
        return True
    return values.of(node, frame).kind == "plain"


def _cuts(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether a subscript only takes a piece of a tensor or adds a dimension: `[:n]`, `[:, None]`, `[..., 0]`."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    numbers = [
        bound
        for part in parts
        for bound in ((part.lower, part.upper, part.step) if isinstance(part, ast.Slice) else (part,))
        if bound is not None
    ]
    return all(_is_number(values, number, frame) for number in numbers)


def _argument_below(values: Values, node: ast.Call, frame: Frame) -> ast.expr | None:
    """What a method is called on, or a function of torch given, that keeps a tensor as its factory made it."""
    if not isinstance(node.func, ast.Attribute):
        thing = values.thing(node.func, frame) if isinstance(node.func, ast.Name) and node.args else None
        named = thing.dotted if thing is not None else ""
        return node.args[0] if named in api.VARIABLES | _REARRANGES else None
    if node.func.attr == "to" and target_device(values, node, frame) is not None:
        return None
    thing = values.thing(node.func, frame)
    if thing is None or thing.kind != "external" or "()" in thing.dotted:
        return node.func.value if node.func.attr in api.DERIVING | api.SCATTERING else None
    derives = thing.dotted.startswith("torch.") and thing.dotted.removeprefix("torch.") in api.DERIVING
    kept = derives or thing.dotted in api.VARIABLES | _REARRANGES
    return node.args[0] if kept and node.args else None


def _joined(values: Values, node: ast.Call, frame: Frame) -> _Made | None:
    """The first factory of `torch.cat((torch.zeros(3), torch.ones(2)))`, where every part is fresh."""
    thing = values.thing(node.func, frame)
    dotted = thing.dotted if thing is not None else chain(node.func)  # a helper may stand where nobody can look
    grid = _makes_grid(dotted)
    if not (grid or dotted in _JOINS) or not node.args or frame.depth > _STEPS:
        return None
    first = node.args[0]
    if isinstance(first, ast.List | ast.Tuple):
        parts = first.elts
    elif isinstance(first, ast.ListComp | ast.GeneratorExp):
        parts = [first.elt]
    elif isinstance(first, ast.Name) and not grid:
        body = values.body(frame.path)
        parts = gathered(body, frame.function, first.id, frame.at) if body is not None else []
        return _first_of(values, parts, frame)
    else:
        parts = node.args if grid else [first]
    made = [_origin(values, part, frame.deeper()) for part in parts]
    return made[0] if made and all(made) else None


def _listed(values: Values, node: ast.Name, frame: Frame) -> list[ast.expr]:
    """What a list holds whose elements a loop calls so; nothing where it may hold anything else."""
    body = values.body(frame.path)
    return gone_through(body, frame.function, node.id, frame.at) if body is not None else []


def _first_of(values: Values, parts: list[ast.expr], frame: Frame) -> _Made | None:
    """The first factory of what a list is filled with, where every part is fresh."""
    body = values.body(frame.path)
    if body is None or frame.depth > _STEPS:
        return None
    made = [_origin(values, part, frame.deeper()._replace(at=body.at(part))) for part in parts]
    return made[0] if made and all(made) else None


def _makes_grid(dotted: str) -> bool:
    """`torch.meshgrid`, and what projects call so to suit several versions of torch, of tensors that are there."""
    return last_part(dotted) == "meshgrid" and dotted.partition(".")[0] not in api.ARRAY_MODULES


def _returned(values: Values, node: ast.Call, frame: Frame) -> _Made | None:
    """The factory of a helper of the project that gives back a fresh tensor whichever way it ends."""
    if frame.hops >= MAX_HOPS:
        return None
    targets = values.types.targets(frame.path, frame.function, chain(node.func))
    if len(targets) > 1:
        return None
    made = [_given_back(values, key, frame) for key in targets or _methods_of_given(values, node, frame)]
    return made[0] if made and all(made) else None


def _methods_of_given(values: Values, node: ast.Call, frame: Frame) -> list[FunctionKey]:
    """What `sde.draw_noise(x)` runs, of an object that callers pass, or passed to the function around."""
    of = values.of(node.func.value, frame) if isinstance(node.func, ast.Attribute) else None
    if of is None or of.kind != "object" or of.thing is None or of.thing.kind != "instance":
        return []
    own = values.index.method(of.thing, node.func.attr)  # type: ignore[attr-defined]
    return values.index.overrides(own) if own is not None else []


def _given_back(values: Values, key: FunctionKey, frame: Frame) -> _Made | None:
    """The first factory of what a function returns, where all that it returns is fresh."""
    body = values.body(key.path)
    if body is None:
        return None
    inside = Frame(key.path, key.index, frame.at, frame.depth, frame.hops + 1)
    made = [_origin(values, r, inside._replace(at=body.at(r))) for r in body.returns(key.index)]
    return made[0] if made and all(made) else None


def _factory(values: Values, node: ast.Call, frame: Frame) -> str | None:
    name = made_of_sizes(values, node, frame) or drawn_on_host(values, node, frame)
    at = frame._replace(at=_place(values, node, frame))
    return name if name is not None and default_device(values, at) == HOST else None


def _place(values: Values, node: ast.Call, frame: Frame) -> Position:
    body = values.body(frame.path)
    return body.at(node) if body is not None else frame.at


def _holds_nothing(factory: str, node: ast.Call) -> bool:
    """`torch.empty(0, n)`, `torch.zeros((0, 4))`: there is nothing to copy."""
    if factory not in _OF_SIZES or not node.args:
        return False
    sizes = node.args[0].elts if isinstance(node.args[0], ast.Tuple | ast.List) else node.args
    if factory == "full" and sizes is node.args:
        return False
    return any(is_literal(size, 0) for size in sizes)


def made_of_sizes(values: Values, node: ast.Call, frame: Frame) -> str | None:
    """The name in `torch` of a factory that is given sizes and numbers, and no device; None for other calls."""
    things = values.types.things(frame.path, frame.function, chain(node.func))
    thing = things[0] if len(things) == 1 else None
    if thing is None or thing.kind != "external" or not thing.dotted.startswith("torch."):
        return None
    name = thing.dotted[len("torch.") :]
    if any(k.arg in (None, "device", "generator", "pin_memory", "out") for k in node.keywords):
        return None
    if name in api.FACTORIES:
        return name if _sized_by_host_numbers(values, node, frame) and not _holds_nothing(name, node) else None
    if name in api.LIKE_FACTORIES and node.args:
        source = values.of(node.args[0], frame)
        return (
            name
            if source.kind == "tensor" and source.device == HOST and source.confidence is Confidence.CERTAIN
            else None
        )
    if name in api.LEGACY_TYPES and node.args:
        sizes = len(node.args) > 1
        return name if sizes or all(_is_size(values, a, frame) for a in node.args) else None
    return None


def _sized_by_host_numbers(values: Values, node: ast.Call, frame: Frame) -> bool:
    """Not when a host tensor goes in (`torch.full(size, t)`): its data has to cross anyway.

    What a tensor only says the size or the end of, `torch.arange(lengths.max())`, `torch.zeros(lengths.max(), n)`,
    holds no data of it.
    """
    if chain(node.func).endswith(_OF_LENGTHS):
        return all(values.of(a, frame).kind not in ("batch", "array") for a in node.args)
    name = last_part(chain(node.func))
    if name in _OF_NOTHING_BUT_SIZES:
        return True
    given = [*node.args[1 if name == "full" else 0 :], *(k.value for k in node.keywords if k.arg in ("mean", "std"))]
    return not any(
        values.of(a, frame).kind in ("tensor", "batch", "array")
        for a in given
        if not isinstance(a, ast.Starred) and not (isinstance(a, ast.Name) and counts_steps(a.id))
    )


def _is_size(values: Values, node: ast.expr, frame: Frame) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int)
    if isinstance(node, ast.Starred):
        return True  # `torch.Tensor(*size)`: what is spread are numbers
    if isinstance(node, ast.List | ast.Tuple | ast.ListComp | ast.Dict):
        return False
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and _is_size(values, node.left, frame):
        return True  # `x.size() + (n,)`
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in ("size", "dim", "numel")
    if isinstance(node, ast.Attribute):
        return node.attr == "shape"
    return isinstance(node, ast.BinOp | ast.Subscript | ast.Name) and values.of(node, frame).kind == "plain"


def _assigned_before(values: Values, node: ast.Name, frame: Frame) -> tuple[ast.expr | None, Frame]:
    """`x = torch.zeros(n)` and then `x.to(device)`, in one block and without a use of `x` between."""
    body = values.body(frame.path)
    if body is None:
        return None, frame
    reaching = body.reaching(frame.function, node.id, frame.at)
    if not reaching or len(reaching) != 1 or reaching[0].value is None:
        return None, frame
    definition = reaching[0]
    if definition.how != "assign" and not (definition.how == "item" and _is_grid(definition.value)):
        return None, frame
    block = body.block_of(frame.function, frame.at)
    # `if x.is_cuda: mask = mask.cuda()` moves what was made before the branch.
    if block[: len(definition.block)] != definition.block or any(
        kind not in ("body", "else") for _, kind in block[len(definition.block) :]
    ):
        return None, frame
    if body.mentions_between(frame.function, node.id, definition.end, frame.at):
        return None, frame
    assert definition.value is not None
    return definition.value, frame._replace(at=body.at(definition.value))


def _is_grid(node: ast.expr | None) -> bool:
    """`ys, xs = torch.meshgrid(...)`: each is made of both."""
    return isinstance(node, ast.Call) and last_part(chain(node.func)) == "meshgrid"
