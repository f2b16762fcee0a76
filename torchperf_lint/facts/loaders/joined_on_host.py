"""Batches that are put together on the host: what joins pinned tensors lies in pageable memory again."""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.passed import argument_for
from torchperf_lint.facts.loaders.loaders import Origin
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.arguments import keyword
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values.value import HOST, UNKNOWN, Frame, Value
from torchperf_lint.facts.values.values import Values

JOINS = frozenset({"cat", "concat", "concatenate", "stack", "hstack", "vstack"})
_NAMES = 3
"""How many statements may lead to a join: `x = torch.cat([a, b])`, `x = x.view(-1, n)`, `x = x.to(device)`."""
_BRANCHES = 8
_AFTERWARDS = api.DERIVING - {"to", "type"}
"""Methods that leave what was joined on the host."""
JOIN_THERE = (
    "copy the parts, which the loader can pin, and join them on the device: "
    "`torch.{join}([part.to(device, non_blocking=True) for part in parts])`; or join them in the `collate_fn`"
)


def joined_on_host(values: Values, node: ast.expr, frame: Frame) -> ast.Call | None:
    """The call of torch's that joins parts of a batch on the host, which an expression is or a name is bound to.

    `torch.cat([views[0], views[1]])` of what a loader yields; None where a part may lie anywhere else.
    """
    node, frame = _made(values, node, frame)
    body = values.body(frame.path)
    if isinstance(node, ast.Name) and body is not None:
        return _joined_in_a_branch(values, body, node, frame)
    given = _seen_otherwise(values, node, frame) if isinstance(node, ast.Call) else None
    node = _below_views(given) if given is not None else node
    if not isinstance(node, ast.Call) or not node.args or keyword(node, "out") is not None:
        return None
    thing = values.thing(node.func, frame)
    dotted = thing.dotted if thing is not None and thing.kind == "external" else ""
    if dotted.removeprefix("torch.") not in JOINS:
        return None
    parts = _parts(values, node.args[0], frame)
    on_host = all(part.kind in ("batch", "tensor") and part.device == HOST for part in parts)
    return node if parts and on_host and any(part.kind == "batch" for part in parts) else None


def joined_at_times(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether one branch alone joins what an expression is: in the others it is a batch as the loader made it."""
    node, frame = _made(values, node, frame)
    body = values.body(frame.path)
    reaching = body.reaching(frame.function, node.id, frame.at) if isinstance(node, ast.Name) and body else None
    if body is None or not reaching:
        return False
    made = [d.value for d in reaching if d.how == "assign" and isinstance(d.value, ast.Call)]
    joined = [v for v in made if joined_on_host(values, v, frame._replace(at=body.at(v))) is not None]
    return len(joined) < len(reaching)


def _made(values: Values, node: ast.expr, frame: Frame) -> tuple[ast.expr, Frame]:
    """What a name is bound to, below views; the name, where it is bound in several branches."""
    body = values.body(frame.path)
    node = _below_views(node)
    for _ in range(_NAMES):
        made = body.assigned_once(frame.function, node.id, frame.at) if isinstance(node, ast.Name) and body else None
        if body is None or made is None:
            break
        node, frame = _below_views(made), frame._replace(at=body.at(made))
    return node, frame


def _joined_in_a_branch(values: Values, body: Body, name: ast.Name, frame: Frame) -> ast.Call | None:
    """The join that one branch binds a name to, where all others bind it to a batch on the host, or join one as well.

    Of batches whose loader is known the copy is one of a batch, however it came about.

    x, target = batch                                  # of one kind
    a, b, target = batch; x = torch.cat([a, b], 1)     # of two
    """
    reaching = body.reaching(frame.function, name.id, frame.at) or ()
    made = [d.value for d in reaching if d.how == "assign" and isinstance(d.value, ast.Call)]
    joins = (joined_on_host(values, value, frame._replace(at=body.at(value))) for value in made[:_BRANCHES])
    found = next((join for join in joins if join is not None), None)
    whole = values.of(name, frame) if found is not None else UNKNOWN
    return found if not whole.origins and whole.kind in ("tensor", "batch") and whole.device == HOST else None


def origins_of_parts(values: Values, join: ast.Call, frame: Frame) -> tuple[Origin, ...]:
    """The loaders that make what a call joins."""
    return tuple(sorted({origin for part in _parts(values, join.args[0], frame) for origin in part.origins}))


def _below_views(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _AFTERWARDS:
        node = node.func.value
    return node


def _seen_otherwise(values: Values, call: ast.Call, frame: Frame) -> ast.expr | None:
    """What a function of the project is given that does nothing but show it in another shape: `interleave(x, n)`."""
    targets = values.types.targets(frame.path, frame.function, chain(call.func))
    body = values.body(targets[0].path) if len(targets) == 1 else None
    made = body.returns(targets[0].index) if body is not None else []
    below = _below_views(made[0]) if len(made) == 1 else None
    if body is None or not isinstance(below, ast.Name) or below is made[0]:
        return None
    function = values.index.function(targets[0])
    bound = body.definitions(targets[0].index).get(below.id)
    given = any(parameter.name == below.id for parameter in function.parameters) and not bound
    return argument_for(call, function, below.id) if given else None


def _parts(values: Values, joined: ast.expr, frame: Frame) -> list[Value]:
    """What is joined: the elements of a list, each as it is written, or a part of a batch that is a list itself.

    What a comprehension takes of each sample would be as many copies.
    """
    if isinstance(joined, ast.List | ast.Tuple):
        return [values.of(part, frame) for part in joined.elts]
    whole = values.of(joined, frame)
    return [whole] if whole.kind == "batch" else []
