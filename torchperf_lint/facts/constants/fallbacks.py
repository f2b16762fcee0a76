"""What keeps a line of a hot function from running often: branches for when there is nothing to compute."""

from __future__ import annotations

import ast

from torchperf_lint.facts.constants.configured import SHAPE
from torchperf_lint.facts.constants.constants import constancy
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import names_of

_COUNTS = frozenset({"size", "numel", "len", "sum", "any", "all", "shape", "nelement", "count_nonzero", "item"})


def is_fallback(site: Site) -> bool:
    """Whether the call makes what stands in for a result where there is nothing to compute: no boxes, no mask, NaN."""
    parents = site.file.enclosing(site.function).parents
    node: ast.AST = site.call
    while node in parents:
        parent = parents[node]
        if isinstance(parent, ast.If | ast.IfExp):
            branch = _branch(parent, node)
            if branch is not None and (_rare_when(parent.test, site) is branch or _returns_a_number(node)):
                return True
        if isinstance(parent, ast.ExceptHandler):
            return True
        node = parent
    return False


def devices_differ(site: Site) -> bool:
    """Whether a call runs where two devices are found to differ: a module that has been moved is there from then on."""
    parents = site.file.enclosing(site.function).parents
    node: ast.AST = site.call
    while node in parents:
        node = parents[node]
        if isinstance(node, ast.If) and any(map(_compares_devices, ast.walk(node.test))):
            return True
    return False


def _compares_devices(node: ast.AST) -> bool:
    if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], ast.NotEq):
        return False
    return all("device" in ast.unparse(side) for side in (node.left, node.comparators[0]))


def _branch(node: ast.If | ast.IfExp, part: ast.AST) -> bool | None:
    """Whether a part of a branching is what runs when the test holds, or when not; None for the test itself."""
    if part is node.test:
        return None
    body = node.body if isinstance(node.body, list) else [node.body]
    return any(part is child for child in body)


def _returns_a_number(node: ast.AST) -> bool:
    """`return torch.tensor(0.0, device=d)` in a branch: the way out where there is nothing to do."""
    value = node.value if isinstance(node, ast.Return) else None
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    return any(isinstance(p, ast.Call) and p.args and isinstance(p.args[0], ast.Constant) for p in parts)


def _rare_when(test: ast.expr, site: Site) -> bool | None:
    for asked in (_empty_when, _tracing_when, _not_given_when):
        rare = asked(test, site)
        if rare is not None:
            return rare
    return None


def _not_given_when(test: ast.expr, site: Site) -> bool | None:
    """`cache_position is None`, in the method by which transformers' `generate` prepares each step: it gives that."""
    if not isinstance(test, ast.Compare) or chain(test.left) != "cache_position":
        return None
    if site.file.outline.functions[site.function].name != "prepare_inputs_for_generation":
        return None
    return isinstance(test.ops[0], ast.Is)


def _tracing_when(test: ast.expr, site: Site) -> bool | None:
    """`isinstance(width, int)` of a size asks whether a tracer is at work, to which sizes are tensors."""
    if not isinstance(test, ast.Call) or chain(test.func) != "isinstance" or len(test.args) != 2:
        return None
    if constancy(site.file.project.values, test.args[0], site.frame) != SHAPE:
        return None
    return last_part(chain(test.args[1])) == "Tensor"


def _empty_when(test: ast.expr, site: Site) -> bool | None:
    """The outcome of a test that means "nothing there"; None where it asks something else."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _empty_when(test.operand, site)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        found = {_empty_when(part, site) for part in test.values}
        return True if True in found else False if False in found else None
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _compared(test)
    if isinstance(test, ast.Call):
        return _asked(test, site)
    # `if boxes:` asks whether there are any, `if self.flag:` is configuration.
    return _named(test, site) if isinstance(test, ast.Name) else None


def _named(test: ast.Name, site: Site) -> bool | None:
    """`if boxes:`; a number or truth value means what it was bound to: `found = len(boxes) > 0`, `fast = order > 2`."""
    if site.file.value(test, site).kind != "plain":
        return False
    body = site.file.project.body(site.file.path)
    reaching = body.reaching(site.function, test.id, site.start) if body is not None else None
    only = reaching[0].value if reaching and len(reaching) == 1 else None
    if only is None or test.id in names_of(only):
        return None  # `done = not done`
    return _empty_when(only, site) if isinstance(only, ast.Compare | ast.Call | ast.UnaryOp) else None


def _asked(test: ast.Call, site: Site) -> bool | None:
    name = last_part(chain(test.func))
    if name in ("isnan", "isinf", "is_nan"):
        return True
    if name in ("any", "all") and isinstance(test.func, ast.Attribute):
        inner = _empty_when(test.func.value, site)
        return inner if inner is not None else False
    return False if name in ("isfinite", "is_finite", "any", "len", "sum", "numel", "count_nonzero") else None


def _compared(test: ast.Compare) -> bool | None:
    operator, right = test.ops[0], test.comparators[0]
    if not _counts(test.left) or not isinstance(right, ast.Constant) or not isinstance(right.value, int | float):
        return None
    if isinstance(right.value, float) and right.value and isinstance(test.left, ast.Name):
        return None  # `if coefficient < 1.0` counts nothing
    if right.value not in (0, 1, 2):
        return None
    same = isinstance(operator, ast.Eq | ast.NotEq)
    if isinstance(test.left, ast.Name) and right.value > (0 if same else 1):
        return None  # `order == 2` tells cases apart
    if isinstance(operator, ast.Eq | ast.LtE | ast.Lt):
        return True
    return False if isinstance(operator, ast.Gt | ast.GtE | ast.NotEq) else None


def _counts(node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        return True
    return any(
        (isinstance(n, ast.Attribute) and n.attr in _COUNTS) or (isinstance(n, ast.Name) and n.id in _COUNTS)
        for n in ast.walk(node)
    )
