"""What is on the host and is computed with a copy: to compute on the device instead, it has to be there as well.

    target_var = target.cuda(non_blocking=True)
    mae(normalizer.denorm(output.cpu()), target)         # `target`, which is there as `target_var`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import HOST

_ONLY_GATHERS = frozenset("zip enumerate print append extend add update dict list tuple set format save dump".split())
"""What computes nothing with what it is given: `zip(ids, labels.cpu().numpy())`."""


def computed_beside(file: SourceFile, site: Site) -> str | None:
    """What to do with the tensors of the host that stand beside a copy, in words; None where there are none."""
    names = list(dict.fromkeys(name for name in _beside(file, site) if _is_on_host(file, site, name)))
    if not names:
        return None
    there = {name.id: _copy_of(file, site, name.id) for name in names}
    moved = [f"`{copy}` for `{name}`" for name, copy in there.items() if copy is not None]
    open_yet = [f"`{name}`" for name, copy in there.items() if copy is None]
    told = [f"with {', '.join(moved)}"] if moved else []
    if open_yet:
        told.append(f"{'and ' if told else 'with '}{', '.join(open_yet)} moved there as well")
    return " ".join(told)


def _beside(file: SourceFile, site: Site) -> Iterator[ast.Name]:
    """The names that what the copy goes into takes directly: `target` of `f(g(x.cpu()), target)`."""
    for parent in file.enclosing(site.function).ancestors(site.call):
        if isinstance(parent, ast.stmt) or (
            isinstance(parent, ast.Call) and last_part(chain(parent.func)) in _ONLY_GATHERS
        ):
            return
        operands: list[ast.expr] = []
        if isinstance(parent, ast.Call):
            operands = [*parent.args, *(keyword.value for keyword in parent.keywords)]
        elif isinstance(parent, ast.BinOp):
            operands = [parent.left, parent.right]
        elif isinstance(parent, ast.Compare):
            operands = [parent.left, *parent.comparators]
        yield from (operand for operand in operands if isinstance(operand, ast.Name))


def _is_on_host(file: SourceFile, site: Site, name: ast.Name) -> bool:
    value = file.value(name, site)
    return value.kind in ("tensor", "batch") and value.device == HOST


def _copy_of(file: SourceFile, site: Site, name: str) -> str | None:
    """The variable that holds the same on the device: `there = x.cuda()`, bound in the statements before."""
    for node in file.enclosing(site.function).of_kinds((ast.Assign,)):
        assert isinstance(node, ast.Assign)
        target = node.targets[0]
        if isinstance(target, ast.Name) and target.id != name and node.lineno < site.call.lineno:
            made = node.value
            if isinstance(made, ast.Call) and last_part(chain(made.func)) == api.VARIABLE and made.args:
                made = made.args[0]
            moves = isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute)
            if moves and chain(made.func) in (f"{name}.cuda", f"{name}.to"):  # type: ignore[attr-defined]
                value = file.value(target, site)
                if value.kind in ("tensor", "batch", "unknown") and value.device != HOST:
                    return target.id
    return None
