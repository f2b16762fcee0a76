"""What the turns of a loop over parameters do, and whether `torch._foreach_*` has a form of each part."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from torchperf_lint.facts.outlines.once import set_up_once
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import names_of, nodes_of
from torchperf_lint.patterns import pattern

_IN_PLACE = frozenset("mul_ div_ add_ sub_ lerp_ addcmul_ addcdiv_ clamp_ clamp_min_ clamp_max_ sign_ neg_".split())
_FORMS = _IN_PLACE | frozenset(
    "abs abs_ add addcdiv addcmul clamp clamp_max clamp_min copy_ div exp exp_ lerp maximum minimum mul neg pow pow_ "
    "reciprocal reciprocal_ round rsqrt rsqrt_ sign sqrt sqrt_ sub zero_".split()
)
"""Operations with a form for lists (2.13); `clamp` is a minimum and a maximum."""
_FREE = frozenset(
    "get items append size dim numel is_complex is_floating_point zeros_like ones_like empty_like full_like clone "
    "detach values setdefault zip len float int sqrt isinstance RuntimeError ValueError range enumerate parameters "
    "state_dict named_parameters buffers data_ptr requires_grad_ pop format step view_as_real".split()
)
"""No kernels, or those of the first step."""
_WAITS = frozenset(
    "item tolist cpu numpy all_reduce broadcast all_gather reduce isnan isinf isfinite any backward step".split()
)
NORMS = frozenset(("norm", "vector_norm"))
"""A list of tensors gives a list of numbers on the device, `torch._foreach_norm`: what ratios are made of."""
_DEVICE = pattern(r"device|cpu|cuda|gpu", re.IGNORECASE)
_EXACT = 1e-9
"""How near to one the sum of two written weights must be."""
_GRADIENT = "grad"
"""What takes a gradient, or what is called one: its moving average is none of weights."""
_KERNELS = 2
"""Operations in place, from which on a turn is more than one kernel for each parameter."""
_AUGMENTED = (ast.Mult, ast.Div, ast.Add, ast.Sub)


def moves_or_reads(loop: ast.AST) -> bool:
    """Whether a turn does what no list form takes over: collectives, reads of the host."""
    called = {last_part(chain(node.func)) for node in nodes_of(loop) if isinstance(node, ast.Call)}
    return bool(called & _WAITS)


def asks_for_norms(loop: ast.For) -> bool:
    """Whether a turn computes the norm of a tensor, as a trust ratio needs it."""
    return any(_is_norm(node) for node in nodes_of(loop))


def _is_norm(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and last_part(chain(node.func)) in NORMS


def blends(loop: ast.For) -> bool:
    """Whether the turns mix a tensor with another one by weights that sum to one: `q = d * q + (1 - d) * p`."""
    targets = _targets(loop)
    for statement in statements_of(loop):
        written = _written(statement, targets)
        if written is None:
            continue
        text = ast.unparse(statement)
        others = names_of(statement) - {written}
        mixes_in = _lerps(text) or _complement(loop) or _goes_part_of_the_way(statement)
        if ".grad" not in text and others and (mixes_in or _takes_scaled(statement, loop)):
            return True
    return False


def gives_blend(function: ast.FunctionDef) -> bool:
    """Whether a function gives back a mixture of what it is given: `return old * beta + (1 - beta) * new`."""
    given = {argument.arg for argument in function.args.args} - {"self", "cls"}
    returned = (n for n in ast.walk(function) if isinstance(n, ast.Return) and n.value is not None)
    mixing = (node for node in returned if len(given & names_of(node)) > 1)
    return any(_complement(node) or _lerps(ast.unparse(node)) or _goes_part_of_the_way(node) for node in mixing)


def mixes(function: ast.Lambda) -> bool:
    """The same of a `lambda`."""
    given = {argument.arg for argument in function.args.args}
    return len(given & names_of(function.body)) > 1 and _complement(function.body)


def _lerps(text: str) -> bool:
    return ".lerp_(" in text or ".lerp(" in text


def _goes_part_of_the_way(statement: ast.stmt) -> bool:
    """Whether a share of a difference is taken or added: `q.sub_(one_minus_decay * (q - p))`."""
    products = (n for n in ast.walk(statement) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult))
    return any(_is_difference(side) for product in products for side in (product.left, product.right))


def _takes_scaled(statement: ast.stmt, loop: ast.For) -> bool:
    """The same in three steps: `tmp = q - p; tmp.mul_(one_minus_decay); q.sub_(tmp)`."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or last_part(chain(call.func)) not in ("sub_", "add_") or len(call.args) != 1:
        return False
    name = chain(call.args[0])
    steps = [*statements_of(loop)]
    made = any(isinstance(s, ast.Assign) and chain(s.targets[0]) == name and _is_difference(s.value) for s in steps)
    scaled = (s.value for s in steps if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call))
    return made and any(chain(c.func) == f"{name}.mul_" for c in scaled)


def _is_difference(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and not isinstance(node.left, ast.Constant)


def changes(loop: ast.For) -> bool:
    """Whether all that the turns do is to scale, bound or shift gradients, or to bound weights, in place."""
    done = [s for s in statements_of(loop) if not isinstance(s, ast.Pass | ast.Continue)]
    return bool(done) and all(_is_change(statement) for statement in done)


def is_elementwise(loop: ast.For, helper_of: Callable[[ast.Call], ast.FunctionDef | None]) -> bool:
    """Whether everything that a turn of an optimizer calls has a form for lists, two kernels at least.

    `helper_of` gives the function that a call runs, for the one that a turn leaves its update to.
    """
    operations = _operations(loop, helper_of)
    return operations is not None and operations >= _KERNELS


def _operations(turn: ast.For | ast.FunctionDef, helper_of: Callable[[ast.Call], ast.FunctionDef | None]) -> int | None:
    """The operations in place of a turn, or of its helper; None where something has no form for lists."""
    operations = 0
    if _is_decided_by_norms(turn):
        return None
    for node in _of_each_step(turn):
        if isinstance(node, ast.Call):
            name = last_part(chain(node.func))
            known = name in _FORMS or name in _FREE
            if not known and not _of_several(node, name) and not _stays_there(node, name):
                inside = _inside(helper_of(node))
                if inside is None:
                    return None
                operations += inside
            operations += name in _IN_PLACE
        elif isinstance(node, ast.While | ast.Lambda | ast.ListComp | ast.Await):
            return None
    return operations


def _inside(helper: ast.FunctionDef | None) -> int | None:
    """The same of what a turn leaves its update to; helpers of helpers are not followed."""
    if helper is None or moves_or_reads(helper):
        return None
    return _operations(helper, lambda _: None)


def _of_each_step(turn: ast.For | ast.FunctionDef) -> Iterator[ast.AST]:
    """The parts of a turn, without what sets up the state of a parameter in its first step."""
    stack: list[ast.AST] = [*turn.body]
    while stack:
        node = stack.pop()
        yield node
        stack += node.orelse if isinstance(node, ast.If) and set_up_once(node) else ast.iter_child_nodes(node)


def _stays_there(call: ast.Call, name: str) -> bool:
    """`state["exp_avg"].to(p_fp32)`: what a checkpoint left elsewhere goes to its parameter; mostly nothing happens."""
    beside = len(call.args) == 1 and not call.keywords and isinstance(call.args[0], ast.Name)
    return name in ("to", "type_as") and beside and _DEVICE.search(ast.unparse(call.args[0])) is None


def _of_several(call: ast.Call, name: str) -> bool:
    """The larger of two tensors, which has a form; norms, and the choice between numbers made of them."""
    return _is_norm(call) or name == "where" or (name in ("max", "min") and len(call.args) == 2)


def _is_decided_by_norms(loop: ast.AST) -> bool:
    """Whether the host asks for a norm, tensor by tensor: `if weight_norm > 0 and update_norm > 0:`."""
    made = [node for node in ast.walk(loop) if isinstance(node, ast.Assign) and any(map(_is_norm, ast.walk(node)))]
    names = names_of(*(target for node in made for target in node.targets))
    tests = [node.test for node in ast.walk(loop) if isinstance(node, ast.If | ast.IfExp | ast.While)]
    asked = (part for test in tests for part in ast.walk(test))
    return any(_is_norm(part) or (isinstance(part, ast.Name) and part.id in names) for part in asked)


def statements_of(loop: ast.For) -> Iterator[ast.stmt]:
    """The simple statements of the turns in order, those under tests and `with` too."""
    stack = [*reversed(loop.body)]
    while stack:
        statement = stack.pop()
        if isinstance(statement, ast.If):
            stack += [*reversed(statement.orelse), *reversed(statement.body)]
        elif isinstance(statement, ast.With):
            stack += reversed(statement.body)
        else:
            yield statement


def updating(loop: ast.For) -> list[ast.stmt]:
    """The statements that change a tensor of the turn."""
    targets = _targets(loop)
    return [statement for statement in statements_of(loop) if _written(statement, targets) is not None]


def _targets(loop: ast.For) -> set[str]:
    """The variables of a loop, and what its turns look up by them: `shadow = self.shadow[name]`."""
    found = names_of(loop.target)
    for statement in statements_of(loop):
        if not isinstance(statement, ast.Assign) or isinstance(statement.value, ast.BinOp):
            continue
        if found & names_of(statement.value):
            found |= names_of(*statement.targets) - {"self"}
    return found


def _written(statement: ast.stmt, targets: set[str]) -> str | None:
    """The loop's variable, or what the turn made of it, that a statement changes."""
    changed: ast.expr | None = None
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        changed = _receiver(statement.value)
    elif isinstance(statement, ast.AugAssign):
        changed = statement.target
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        changed = statement.targets[0] if isinstance(statement.targets[0], ast.Attribute | ast.Subscript) else None
    if changed is None:
        return None
    names = [node.id for node in ast.walk(changed) if isinstance(node, ast.Name)]
    return names[0] if names and targets.intersection(names) else None


def _receiver(call: ast.Call) -> ast.expr | None:
    """What a chain of operations in place begins with: `q` of `q.mul_(d).add_(p)`."""
    node: ast.expr = call
    changed = False
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        changed = changed or node.func.attr.endswith("_")
        node = node.func.value
    return node if changed else None


def _complement(loop: ast.AST) -> bool:
    """Whether code holds `1 - x`, and a product, or both as numbers: the weights of a moving average."""
    found = product = False
    parts: list[ast.AST] = [*statements_of(loop)] if isinstance(loop, ast.For) else [loop]
    gradients = {name for part in parts if _takes_gradient(part) for name in _bound(part)}
    if any(_written_weights(*steps) and not names_of(*steps) & gradients for steps in _in_one(parts)):
        return True
    for node in ast.walk(loop):
        if isinstance(node, ast.BinOp):
            one = isinstance(node.left, ast.Constant) and node.left.value in (1, 1.0)
            found = found or (one and isinstance(node.op, ast.Sub))
            product = product or isinstance(node.op, ast.Mult)
        elif isinstance(node, ast.Attribute):
            product = product or node.attr == "mul_"
        elif isinstance(node, ast.AugAssign):
            product = product or isinstance(node.op, ast.Mult)
    return found and product


def _takes_gradient(code: ast.AST) -> bool:
    return _GRADIENT in ast.unparse(code)


def _bound(statement: ast.AST) -> list[str]:
    """`g` of `g = p.grad`."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _in_one(parts: list[ast.AST]) -> Iterator[list[ast.AST]]:
    """Each part alone, and `q *= 0.99; q += 0.01 * p`, which write the same."""
    for number, part in enumerate(parts):
        yield [part]
        then = parts[number + 1] if number + 1 < len(parts) else None
        if not isinstance(part, ast.AugAssign) or not isinstance(then, ast.AugAssign):
            continue
        if isinstance(then.op, ast.Add) and ast.unparse(part.target) == ast.unparse(then.target):
            yield [part, then]


def _written_weights(*steps: ast.AST) -> bool:
    """`q.mul_(0.99).add_(p, alpha=0.01)`, `0.99 * q + 0.01 * p`: two numbers, not alike, that sum to one.

    Both in one expression: of `v.mul_(0.9).add_(p.grad)` and `p.sub_(v, alpha=0.1)` one is a momentum, one a rate.
    """
    if any(map(_takes_gradient, steps)):
        return False
    factors: set[float] = set()
    for node in (node for step in steps for node in ast.walk(step)):
        given: list[ast.expr] = []
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            given = [node.left, node.right]
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Mult):
            given = [node.value]
        elif isinstance(node, ast.Call) and last_part(chain(node.func)) in ("mul_", "mul"):
            given = node.args
        elif isinstance(node, ast.keyword) and node.arg == "alpha":
            given = [node.value]
        factors.update(n.value for n in given if isinstance(n, ast.Constant) and isinstance(n.value, float))
    return any(abs(one + other - 1) < _EXACT and one > other > 0 for one in factors for other in factors)


def _is_change(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.AugAssign):
        return isinstance(statement.op, _AUGMENTED) and _is_gradient(statement.target)
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    call = statement.value
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in _IN_PLACE:
        return False
    bounds = call.func.attr.startswith("clamp") and chain(call.func.value).count(".") <= 1
    return _is_gradient(call.func.value) or bounds


def _is_gradient(node: ast.expr) -> bool:
    return chain(node).endswith((".grad", ".grad.data"))
