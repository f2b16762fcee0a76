"""Hot reads of device values on the host: what the synchronisation rules share."""

from __future__ import annotations

import ast
from typing import NamedTuple

import libcst as cst

from torchperf_lint.facts.hotness import Hot
from torchperf_lint.facts.source import Site, SourceFile
from torchperf_lint.facts.value import ANYWHERE, Value
from torchperf_lint.model import Confidence, Severity


class Read(NamedTuple):
    """A host read of a device value on a hot line."""

    value: Value
    hot: Hot
    severity: Severity
    """Info once an evaluation batch. Where the program's next action needs the value, or only a caller that asks for
    it gets there, reviewers would disagree: such a read is `possible` as well, and not shown by default."""


def hot_read(file: SourceFile, site: Site, receiver: ast.expr) -> Read | None:
    """The read that `site` is of `receiver`, or None when it is not hot or the value not (known to be) on a device."""
    hot = site.hot
    if hot is None or hot.kind == "data":
        return None
    value = file.value(receiver, site)
    if not value.on_device:
        return None
    if value.device == ANYWHERE:
        if not file.project.uses_accelerator:
            return None
        value = value.weaker(Confidence.LIKELY)
    if hot.optional or decides(site):
        return Read(value.weaker(Confidence.POSSIBLE), hot, Severity.INFO)
    return Read(value, hot, Severity.INFO if hot.kind == "eval" else Severity.WARNING)


def decides(site: Site) -> bool:
    """Whether the value decides what runs next: a branch that does more than raise, a bound, an index."""
    node: cst.CSTNode = site.node
    parents = site.unit.parents
    while node in parents:
        parent = parents[node]
        if isinstance(parent, cst.If | cst.While) and parent.test is node:
            return not (isinstance(parent, cst.If) and _only_leaves(parent))
        if isinstance(parent, cst.IfExp) and parent.test is node:
            return True
        if isinstance(parent, cst.SubscriptElement):
            return True
        if isinstance(parent, cst.Call) and isinstance(parent.func, cst.Name) and parent.func.value == "range":
            return True
        if isinstance(parent, cst.For | cst.CompFor) and parent.iter is node:
            # In a training step such a loop gathers statistics; elsewhere it lays out what runs next.
            return site.hot is not None and site.hot.kind in ("forward", "rollout")
        if isinstance(parent, cst.Assign):
            return _assigned_decides(site, parent)
        if isinstance(parent, cst.BaseSmallStatement | cst.BaseSuite):
            return False
        node = parent
    return False


def _assigned_decides(site: Site, assignment: cst.Assign) -> bool:
    """`n = int(mask.sum())`, and then `if n > 3:`, `x[:n]`, `torch.zeros(n)`."""
    body = site.file.project.body(site.file.path)
    assert body is not None
    decisive = body.decisive(site.record.function)
    targets = [target.target for target in assignment.targets]
    parts = [e.value for t in targets if isinstance(t, cst.Tuple | cst.List) for e in t.elements] + targets
    return any(cst.Module(()).code_for_node(part) in decisive for part in parts)


def _only_leaves(node: cst.If) -> bool:
    """Whether a branch ends in raise or exit: a safety check, not the algorithm."""
    body = node.body.body
    last = body[-1] if body else None
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    if isinstance(last, cst.Raise):
        return True
    text = cst.Module(body=()).code_for_node(last) if isinstance(last, cst.Expr) else ""
    return "exit(" in text
