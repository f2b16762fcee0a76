"""The fix for a tensor made on the host and then moved: its device goes into the call that makes it.

`torch.zeros(n).float().to(device)` becomes `torch.zeros(n, device=device).float()`, and a dtype that the move gives
goes where the tensor is made, if that is filled with zeros or ones. Safe where the device computes
the very same values, see `_grade`. What might then live on another device gets no fix.
"""

from __future__ import annotations

import ast

from torchperf_lint.errors import CannotFix
from torchperf_lint.facts.copies.filled_first import is_filled_between
from torchperf_lint.facts.copies.fresh import Fresh
from torchperf_lint.facts.devices.devices import has_a_device, is_dtype, names_a_tensor
from torchperf_lint.facts.devices.distributions import DISTRIBUTIONS
from torchperf_lint.facts.files.concrete import cst
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.fixes.edits import Editor, fix_of
from torchperf_lint.facts.fixes.listing import has_comment
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.arguments import arguments
from torchperf_lint.facts.syntax.syntax import names_of
from torchperf_lint.model import Edit, Fix, Safety

_EXACT = frozenset(
    "zeros ones empty full eye tril_indices triu_indices zeros_like ones_like empty_like full_like".split()
)
_ANY_DTYPE = frozenset("zeros ones empty zeros_like ones_like".split())
"""Functions whose values are the same whether the dtype is given or what they make is converted."""
_SAME_VALUES = frozenset(
    "float long half double int bool bfloat16 byte short to type unsqueeze squeeze unsqueeze_ squeeze_ view view_as "
    "reshape t permute transpose flatten contiguous clone detach triu tril triu_ tril_ fill_ zero_ flip roll".split()
)
"""Methods that give the same values in the same layout wherever they run."""
_ANY_DEVICE = frozenset(["view_as", "expand_as"])
"""Methods whose argument may live elsewhere."""
_IMPURE = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)


def onto_device(site: Site, fresh: Fresh) -> Fix | None:
    """The fix for a `.to(device)` or `.cuda()` call that moves a fresh tensor; None where none is certain to work."""
    assert site.receiver is not None
    made = site.receiver if _holds(site.receiver, fresh.call) else _assigned(site)
    methods = _methods(made, fresh.call)
    if (
        fresh.factory in api.LEGACY_TYPES
        or fresh.factory.startswith(DISTRIBUTIONS)
        or methods is None
        or is_filled_between(site.file.project.values, site.receiver, site.frame)
        or not all(_takes_numbers(site, m) for m in methods)
    ):
        return None
    return fix_of(site, _grade(fresh, methods), lambda edit: _edits(edit, site, fresh))


def _grade(fresh: Fresh, methods: list[ast.Call]) -> Safety:
    """Safe for what is filled with the same numbers anywhere.

    Not so random numbers (the device has a generator of its own), fractions (rounded otherwise), `expand` (the move
    gave it memory of its own), and what has gradients (the move made another tensor of it).
    """
    call = fresh.call
    step = next((k.value for k in call.keywords if k.arg == "step"), call.args[2] if len(call.args) > 2 else None)
    if isinstance(step, ast.UnaryOp):
        step = step.operand
    whole = step is None or (isinstance(step, ast.Constant) and isinstance(step.value, int))
    exact = fresh.factory in _EXACT or (fresh.factory == "arange" and whole)
    kept = all(_name(method) in _SAME_VALUES for method in methods)
    graded = any(k.arg == "requires_grad" for k in call.keywords)
    return Safety.SAFE if exact and kept and not graded else Safety.UNSAFE


def _methods(made: ast.expr | None, factory: ast.Call) -> list[ast.Call] | None:
    """The method calls between a factory and what comes of it; None where it is not at their bottom."""
    found: list[ast.Call] = []
    while made is not factory:
        if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Attribute):
            return None
        found.append(made)
        made = made.func.value
    return found


def _holds(made: ast.expr, factory: ast.Call) -> bool:
    return _methods(made, factory) is not None


def _assigned(site: Site) -> ast.expr | None:
    """What the name that is moved was bound to: `x = torch.zeros(3)`, and then `x = x.to(device)`.

    None where a branch lies between: then it is not always moved.
    """
    body, name = site.file.project.body(site.file.path), site.receiver
    if body is None or not isinstance(name, ast.Name):
        return None
    reaching = body.reaching(site.function, name.id, site.start)
    if not reaching or len(reaching) != 1:
        return None
    return reaching[0].value if body.block_of(site.function, site.start) == reaching[0].block else None


def _takes_numbers(site: Site, method: ast.Call) -> bool:
    """Whether no argument of a method can be a tensor, which may live on the host, or a type of tensors there."""
    if _name(method) in _ANY_DEVICE:
        return True
    if _name(method).startswith("masked_fill") or _name(method) in api.SCATTERING:
        return False
    given = arguments(method)
    if any(site.file.value(argument, site).kind in ("tensor", "batch", "array") for argument in given):
        return False
    return not any("Tensor" in ast.unparse(argument) for argument in given)


def _name(method: ast.Call) -> str:
    return method.func.attr if isinstance(method.func, ast.Attribute) else ""


# -- the edits -----------------------------------------------------------------------------------------------


def _edits(edit: Editor, site: Site, fresh: Fresh) -> list[Edit]:
    call, keywords = site.call, {k.arg: k.value for k in site.call.keywords}
    if not keywords.keys() <= {"device", "dtype", "non_blocking"} or any(isinstance(a, ast.Starred) for a in call.args):
        raise CannotFix("it does more than move")
    device = _device(site, keywords)
    if device is not None and _is_a_tensor(site, device):
        if not isinstance(device, ast.Name | ast.Attribute) or isinstance(site.receiver, ast.Name):
            raise CannotFix("a tensor that gives its device is named once more")
        like = edit.source(device)
        if site.receiver is fresh.call and _takes_dtype(fresh):
            return [*edit.set_keyword(fresh.call, "device", f"{like}.device, dtype={like}.dtype"), edit.unwrap(call)]
        return edit.set_keyword(fresh.call, "device", f"{like}.device")
    dtype, to = _dtype(site, keywords), '"cuda"' if device is None else edit.source(device)
    if dtype is not None and site.receiver is fresh.call and _takes_dtype(fresh):
        return [*edit.set_keyword(fresh.call, "device", f"{to}, dtype={edit.source(dtype)}"), edit.unwrap(call)]
    made = edit.set_keyword(fresh.call, "device", to)
    if isinstance(site.receiver, ast.Name):
        if dtype is not None or not _moves_itself(edit, site) or not _known_before(site, fresh, device):
            raise CannotFix("what it moves to may not be known where it is made")
        return [*made, *edit.drop_statement(call)]
    return [*made, edit.unwrap(call) if dtype is None else _only(edit, call, dtype)]


def _is_a_tensor(site: Site, device: ast.expr) -> bool:
    """Whether what is moved to is a tensor: `type_as` takes nothing else, and of what `to` takes one has a device."""
    value = site.file.value(device, site)
    if value.kind == "unknown":
        values = site.file.project.values
        if _name(site.call) == "type_as" or has_a_device(values, device, site.frame):
            return True
        if names_a_tensor(values, device, site.frame):
            raise CannotFix("only its name says that what it moves to is a tensor")
        return False
    return value.kind in ("tensor", "batch")


def _device(site: Site, keywords: dict[str | None, ast.expr]) -> ast.expr | None:
    """What is moved to; None for a bare `.cuda()`."""
    device = keywords.get("device") or (site.call.args[0] if site.call.args else None)
    if device is not None and any(isinstance(node, _IMPURE) for node in ast.walk(device)):
        raise CannotFix("its device is made on the way")
    if _name(site.call) == "cuda" and device is not None:
        # `.cuda(None)` is the current device, `device=None` the host.
        index = isinstance(device, ast.Constant) and device.value is not None
        if len(site.call.args) > 1 or not (index or site.file.value(device, site).kind == "torch_device"):
            raise CannotFix("it may be None")
    return device


def _dtype(site: Site, keywords: dict[str | None, ast.expr]) -> ast.expr | None:
    """The dtype that `.to` gives as well."""
    others = site.call.args[0 if "device" in keywords else 1 :]
    if len(others) > 1 or (others and not is_dtype(site.file.project.values, others[0], site.frame)):
        raise CannotFix("its arguments are not known")
    return others[0] if others else keywords.get("dtype")


def _takes_dtype(fresh: Fresh) -> bool:
    """Whether the dtype may go into the call that makes the tensor, which gives none yet."""
    return fresh.factory in _ANY_DTYPE and not any(k.arg in ("dtype", None) for k in fresh.call.keywords)


def _only(edit: Editor, call: ast.Call, dtype: ast.expr) -> Edit:
    """Leave only the dtype of `.to(device, dtype=dtype)`."""
    given, at = edit.arguments(call).items, edit.span(dtype)[0]
    start, end = given[0][0], given[-1][1]
    if has_comment(edit.text[start:end]):
        raise CannotFix("a comment stands in between")
    return Edit(start, end, next(edit.text[first:last] for first, last in given if first <= at < last))


def _moves_itself(edit: Editor, site: Site) -> bool:
    """Whether the whole statement is `x = x.to(device)`."""
    statement = edit.statement(site.call)
    if (
        not isinstance(statement, cst.Assign)
        or len(statement.targets) != 1
        or statement.value is not edit.node(site.call)
    ):
        return False
    target = statement.targets[0].target
    return isinstance(target, cst.Name) and isinstance(site.receiver, ast.Name) and target.value == site.receiver.id


def _known_before(site: Site, fresh: Fresh, device: ast.expr | None) -> bool:
    """Whether every name of the device means the same where the tensor is made."""
    body = site.file.project.body(site.file.path)
    if device is None or body is None:
        return body is not None
    if any(isinstance(node, ast.Call | ast.Subscript) for node in ast.walk(device)):
        return False
    names = names_of(device)
    made = body.at(fresh.call)
    between = [
        d for name in names for d in body.definitions(site.function).get(name, ()) if made <= d.end <= site.start
    ]
    at_both = (body.reaching(site.function, n, made) == body.reaching(site.function, n, site.start) for n in names)
    return not between and all(at_both)
