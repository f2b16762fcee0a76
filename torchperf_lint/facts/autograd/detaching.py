"""The fix of what is kept together with its graph: `.detach()` behind it, where it is one tensor for certain.

    total += loss                      total += loss.detach()
    losses.append(loss / steps)        losses.append((loss / steps).detach())

Safe is a local sum that is only ever read with `.item()`: nothing can ask for its graph. A model's output may be a
tuple, and what is a loss in one step the number 0 in another, so the code has to show a tensor.
"""

from __future__ import annotations

import ast

from torchperf_lint.errors import CannotFix
from torchperf_lint.facts.autograd.kept import Kept
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.effects import backward_target
from torchperf_lint.facts.files.spots import Spot
from torchperf_lint.facts.fixes.edits import Editor, fix_of
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.model import Edit, Fix, Safety

_DEPTH = 5
_KEEPING = frozenset("cpu cuda to float double half bfloat16 contiguous clone".split())
"""Methods that containers of tensors may have as well."""
_COMPUTING = frozenset(
    "mean sum softmax log_softmax sigmoid tanh relu clamp exp log sqrt pow square abs norm squeeze unsqueeze view "
    "reshape permute flatten transpose argmax logsumexp".split()
)
_SEVERAL = frozenset(
    "max min sort topk split chunk unbind median mode kthvalue cummax cummin std_mean var_mean tensor_split aminmax "
    "meshgrid is_tensor numel compile no_grad enable_grad device svd qr load save".split()
)
"""Functions of torch that do not return one tensor, or not always."""
_JOINS = ("torch.cat", "torch.stack", "torch.concat", "torch.vstack", "torch.hstack")


def without_graph(kept: Kept) -> Fix | None:
    """The fix; None where what is kept may be no tensor."""
    safety = Safety.SAFE if _is_read_as_number(kept) else Safety.UNSAFE
    return fix_of(kept.spot, safety, lambda edit: _edits(edit, kept))


def _edits(edit: Editor, kept: Kept) -> list[Edit]:
    value, spot = kept.store.value, kept.spot
    if not (_is_tensor(spot, value, _DEPTH) or _is_joined(kept) or _is_added_to_a_number(kept)):
        raise CannotFix("it may be no tensor, or several")
    return [edit.replace(value, f"{edit.operand(value)}.detach()")]


# -- is it one tensor ----------------------------------------------------------------------------------------


def _is_tensor(spot: Spot, node: ast.expr, depth: int) -> bool:
    """Whether the code shows an expression to be one tensor, in every turn."""
    if depth == 0:
        return False
    if isinstance(node, ast.Call):
        return _gives_tensor(spot, node, depth)
    if isinstance(node, ast.BinOp):
        return _is_tensor(spot, node.left, depth - 1) or _is_tensor(spot, node.right, depth - 1)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub) and _is_tensor(spot, node.operand, depth - 1)
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript) or "?" in chain(node):
        return False
    return _is_used_as_tensor(spot, node) or (isinstance(node, ast.Name) and _is_bound_to_tensors(spot, node, depth))


def _gives_tensor(spot: Spot, node: ast.Call, depth: int) -> bool:
    denoted = spot.file.denotes(node.func, spot.at(node)) or ""
    if api.is_torchs_own(denoted):
        module, _, name = denoted.rpartition(".")
        several = name in _SEVERAL or any((k.arg or "return").startswith("return") for k in node.keywords)
        return module in ("torch", "torch.nn.functional") and name.islower() and not several
    if not isinstance(node.func, ast.Attribute):
        return False
    receiver = node.func.value
    if node.func.attr in _KEEPING:
        return _is_tensor(spot, receiver, depth - 1)
    return node.func.attr in _COMPUTING and spot.file.value(receiver, spot).kind == "tensor"


def _is_bound_to_tensors(spot: Spot, node: ast.Name, depth: int) -> bool:
    body = _body(spot)
    reaching = body.reaching(spot.function, node.id, spot.start)
    return bool(reaching) and all(
        d.how == "assign" and not d.index and d.value is not None and _is_tensor(spot, d.value, depth - 1)
        for d in reaching or ()
    )


def _is_used_as_tensor(spot: Spot, node: ast.expr) -> bool:
    """Whether `backward` runs on the very same value, or a function that takes one tensor is given it."""
    body, written = _body(spot), chain(node)
    around = spot.file.enclosing(spot.function)
    calls = [part for part in around.parents if isinstance(part, ast.Call)]
    if any(chain(c.func) == "isinstance" and c.args and chain(c.args[0]) == written for c in calls):
        return False
    for call in calls:
        whole = [c for c in (_differentiated(call), _given(spot, call)) if c is not None]
        if any(chain(c) == written and _same(body, spot, c) for c in whole) and _always_with(spot, call):
            return True
    return False


def _differentiated(call: ast.Call) -> ast.expr | None:
    """`loss` of `loss.backward()`, of `scaler.scale(loss).backward()` and of `accelerator.backward(loss / 2)`."""
    target = backward_target(call)
    if isinstance(target, ast.Call) and last_part(chain(target.func)) == "scale" and target.args:
        target = target.args[0]
    if isinstance(target, ast.BinOp) and isinstance(target.op, ast.Div | ast.Mult):
        return None  # either may be the tensor
    return target


def _given(spot: Spot, call: ast.Call) -> ast.expr | None:
    """The first argument of a function of torch that takes a tensor, the receiver of a method that only these have."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in api.TENSOR_ONLY_METHODS - _KEEPING:
        return call.func.value
    denoted = spot.file.denotes(call.func, spot.at(call)) or ""
    return call.args[0] if denoted.startswith("torch.nn.functional.") and call.args else None


def _same(body: Body, spot: Spot, node: ast.expr) -> bool:
    """Whether the name at the head of an expression is bound there as it is where it is kept."""
    head, at = chain(node).partition(".")[0].partition("[")[0], body.at(node)
    return body.reaching(spot.function, head, at) == body.reaching(spot.function, head, spot.start)


def _always_with(spot: Spot, call: ast.Call) -> bool:
    """Whether a call runs whenever the value is kept: no branch holds it that does not hold the other as well."""
    parents = spot.file.enclosing(spot.function).parents

    def blocks(node: ast.AST) -> set[ast.AST]:
        found: set[ast.AST] = set()
        while node in parents:
            inner, node = node, parents[node]
            branch = isinstance(node, ast.If | ast.IfExp) and inner is not node.test
            if branch or isinstance(node, ast.For | ast.While | ast.Try | ast.ExceptHandler | ast.BoolOp | ast.Lambda):
                found.add(inner if branch and not isinstance(inner, ast.stmt) else node)
        return found

    return blocks(call) <= blocks(spot.expression)


# -- what becomes of it --------------------------------------------------------------------------------------


def _is_joined(kept: Kept) -> bool:
    """Whether the same function makes one tensor of all that is kept: then each of them is one."""
    store, spot = kept.store, kept.spot
    call = store.statement.value if isinstance(store.statement, ast.Expr) else None
    extends = isinstance(call, ast.Call) and last_part(chain(call.func)) == "extend"
    if store.how != "store" or extends or isinstance(store.target, ast.Subscript):
        return False
    for node in spot.file.enclosing(spot.function).parents:
        whole = isinstance(node, ast.Call) and bool(node.args) and chain(node.args[0]) == chain(store.target)
        if isinstance(node, ast.Call) and whole and spot.file.denotes(node.func, spot.at(node)) in _JOINS:
            return True
    return False


def _is_added_to_a_number(kept: Kept) -> bool:
    """`total = 0.0`, and then `total += criterion(out, y)`: what a call returns there is no tuple and has a graph."""
    store = kept.store
    made = isinstance(store.value, ast.Call) and kept.spot.file.value(store.value, kept.spot).kind == "tensor"
    return made and store.how == "sum" and _begins_as_number(kept)


def _begins_as_number(kept: Kept) -> bool:
    target, body = kept.store.target, _body(kept.spot)
    if not isinstance(target, ast.Name):
        return False
    begun = [d for d in body.definitions(kept.spot.function).get(target.id, ()) if d.how != "augmented"]
    plain = [d for d in begun if d.value is None or kept.store.value not in ast.walk(d.value)]
    values = [_unpacked(d.value, d.index) for d in plain if d.how in ("assign", "item")]
    numbers = [v for v in values if isinstance(v, ast.Constant) and type(v.value) in (int, float)]
    return len(plain) == len(numbers) > 0


def _unpacked(value: ast.expr | None, index: tuple[int, ...]) -> ast.expr | None:
    for position in index:
        value = value.elts[position] if isinstance(value, ast.Tuple) and position < len(value.elts) else None
    return value


def _is_read_as_number(kept: Kept) -> bool:
    """Whether a sum is local, begins as a number, and nobody reads it but with `.item()`."""
    target, spot = kept.store.target, kept.spot
    if kept.store.how != "sum" or not isinstance(target, ast.Name) or not spot.function or not _begins_as_number(kept):
        return False
    around, own = spot.file.enclosing(spot.function), set(ast.walk(kept.store.statement))
    for node in ast.walk(around.top):
        if isinstance(node, ast.Global | ast.Nonlocal) and target.id in node.names:
            return False
        if isinstance(node, ast.Name) and node.id in ("locals", "vars", "eval", "exec"):
            return False
        if isinstance(node, ast.Name) and node.id == target.id and isinstance(node.ctx, ast.Load) and node not in own:
            reads: ast.AST = node
            while isinstance(around.parents.get(reads), ast.BinOp):
                reads = around.parents[reads]
            method = around.parents.get(reads)
            if not isinstance(method, ast.Attribute) or method.attr != "item":
                return False
            if not isinstance(around.parents.get(method), ast.Call):
                return False
    return True


def _body(spot: Spot) -> Body:
    body = spot.file.project.body(spot.file.path)
    if body is None:
        raise CannotFix("the file changed")
    return body
