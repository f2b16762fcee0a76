"""The fix for one number that is uploaded: it is filled in on the device.

`torch.tensor(0.5, device=d)` becomes `torch.full((), 0.5, device=d)`, `torch.tensor(0.5).to(d)` the same, and
`x.new_tensor(0.5)` becomes `x.new_full((), 0.5)`. Both read the dtype off the number in the same way, the default dtype
for a float and int64 for an int, and both convert it in the same way to a dtype that is given. That holds for numbers
that are written out; of others it is not known whether they are numpy's, which bring a dtype, or tensors. TorchScript
reads `True` as a whole number in `torch.full`, and only there.
"""

from __future__ import annotations

import ast

from torchperf_lint.errors import CannotFix
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.fixes import importing
from torchperf_lint.facts.fixes.edits import Editor, fix_of
from torchperf_lint.facts.syntax.literals import is_text
from torchperf_lint.model import Edit, Fix, Safety

_LARGEST = 1e38
"""What lies above is infinity to `torch.tensor` where it has float32, and an error to `torch.full`."""
_KEPT = frozenset({"device", "dtype", "requires_grad"})
_MAKERS = frozenset({"torch.tensor", "torch.as_tensor"})
_NAMED = frozenset({"math.inf", "math.pi", "math.e", "math.nan", "torch.inf", "torch.pi", "torch.nan", "numpy.inf"})


def on_the_device(site: Site, made: ast.Call) -> Fix | None:
    """The fix of a call that uploads one number, `made` itself or a move of what it made; else None."""
    return fix_of(site, Safety.SAFE, lambda edit: _edits(edit, site, made))


def _edits(edit: Editor, site: Site, made: ast.Call) -> list[Edit]:
    if len(made.args) != 1 or not {k.arg for k in made.keywords} <= _KEPT or not _is_number(site, made.args[0]):
        raise CannotFix("it is no number that is written out")
    edits = [*_renamed(edit, site, made), _with_shape(edit, made.args[0])]
    if made is site.call:
        return edits
    if made is not site.receiver or any(k.arg != "dtype" for k in made.keywords):
        raise CannotFix("more is done to it than a move")
    return [*edits, *edit.set_keyword(made, "device", _destination(edit, site)), edit.unwrap(site.call)]


def _renamed(edit: Editor, site: Site, made: ast.Call) -> list[Edit]:
    name = made.func.attr if isinstance(made.func, ast.Attribute) else getattr(made.func, "id", "")
    if name == "new_tensor":
        return [edit.rename_method(made, "new_full")]
    if site.file.denotes(made.func, site) not in _MAKERS:
        raise CannotFix("it is made otherwise")
    if isinstance(made.func, ast.Attribute):
        return [edit.rename_method(made, "full")]
    written, imported = importing.require(edit, "torch.full")
    return [edit.replace(made.func, written), *imported]


def _with_shape(edit: Editor, number: ast.expr) -> Edit:
    """Put the empty shape before the number: on a line of its own where the number has one."""
    start, end = edit.span(number)
    rest = edit.text[end : edit.line_end(end)].lstrip(" ,").partition("#")[0]
    alone = edit.starts_line(start) and not rest.strip()
    between = edit.newline(start) + edit.text[edit.line_start(start) : start] if alone else " "
    return Edit(start, start, f"(),{between}")


def _is_number(site: Site, node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        return not isinstance(node.operand, ast.UnaryOp) and _is_number(site, node.operand)
    if isinstance(node, ast.Constant):
        value = node.value
        return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST
    if isinstance(node, ast.Call):  # float("inf")
        plain = site.file.denotes(node.func, site) == "builtins.float" and len(node.args) == 1 and not node.keywords
        return plain and is_text(node.args[0])
    return site.file.denotes(node, site) in _NAMED


def _destination(edit: Editor, site: Site) -> str:
    """What `.to(device)` or `.cuda()` moves to, and does nothing else."""
    call, move = site.call, site.call.func
    assert isinstance(move, ast.Attribute)
    if move.attr == "cuda" and not call.args and not call.keywords:
        return '"cuda"'
    given = [*call.args, *(k.value for k in call.keywords if k.arg == "device")]
    others = {k.arg for k in call.keywords} - {"device", "non_blocking"}
    if move.attr != "to" or len(given) != 1 or others or not _is_device(site, given[0]):
        raise CannotFix("where it is moved to is not known")
    return edit.source(given[0])


def _is_device(site: Site, node: ast.expr) -> bool:
    """Whether it is a device and no tensor, whose dtype would count as well."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    named = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return named == "device" or site.file.value(node, site).kind == "torch_device"
