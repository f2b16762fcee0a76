"""What fills a tensor between the call that made it and its move: `rows[0] = y`, `rows.scatter_(1, y, 1)`, a helper."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.copies.written_into import written_before
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.facts.values.values import Values

OF_ITSELF = frozenset(
    "clamp_ clamp_min_ clamp_max_ clip_ zero_ fill_ abs_ neg_ sqrt_ rsqrt_ square_ exp_ log_ pow_ sin_ cos_ tanh_ "
    "sigmoid_ relu_ floor_ ceil_ round_ triu_ tril_ requires_grad_".split()
)
"""Methods in place that take numbers at most."""


def is_filled_between(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether what a factory made is filled before it moves: `match(boxes, found, i)`, `rows.scatter_(1, y, 1)`."""
    body = values.body(frame.path)
    if body is None or not isinstance(node, ast.Name):
        return False
    reaching = body.reaching(frame.function, node.id, frame.at)
    made = reaching[0] if reaching and len(reaching) == 1 else None
    if made is None or made.how != "assign":
        return False
    between = [read for read in body.reads(frame.function, node.id) if made.end <= body.at(read) < frame.at]
    taken: set[int] = set()
    for call in ast.walk(body.functions[frame.function]) if between else ():
        if isinstance(call, ast.Call):
            taken.update(id(node) for node in _filled_by(values, call, frame))
    return bool(between) and all(id(read) in taken for read in between)


def _filled_by(values: Values, call: ast.Call, frame: Frame) -> Iterator[ast.expr]:
    """What a call may fill: the arguments of a function of the project, what a method in place is called on."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in OF_ITSELF | api.SCATTERING:
        yield call.func.value
    elif only_target(values, call, frame) is not None:
        yield from call.args


def is_filled(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether what a chain of methods starts from is a local name into which something is written."""
    body, bottom = values.body(frame.path), _bottom(node)
    if body is None or not isinstance(bottom, ast.Name):
        return False
    made = body.reaching(frame.function, bottom.id, frame.at) or ()
    return any(True for _ in written_before(body, frame.function, bottom.id, made, frame.at))


def _bottom(node: ast.expr) -> ast.expr:
    """What a chain of methods that keep a tensor starts from: `pe` of `pe[None].float()`."""
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in api.DERIVING:
            node = node.func.value
        elif isinstance(node, ast.Subscript):
            node = node.value
        else:
            return node


def only_target(values: Values, node: ast.Call, frame: Frame) -> FunctionKey | None:
    """The one function of the project that a call runs."""
    targets = values.types.targets(frame.path, frame.function, chain(node.func))
    return targets[0] if len(targets) == 1 else None
