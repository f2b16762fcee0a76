"""The words of a test: its names, its parts, its text."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from torchperf_lint.facts.syntax.expressions_written import as_written
from torchperf_lint.facts.syntax.syntax import CHILDREN, LEAVES
from torchperf_lint.patterns import pattern

SHORT = 60
"""Code points of a test that a message can carry."""
_ACCUMULATES = pattern(r"accum|(?:^|_)(?:grad(?:ient)?s?_accu?|accu?_(?:grads?|steps?|iters?))(?:_|$)", re.IGNORECASE)
"""Gradients are accumulated over so many batches: what runs then runs with every step of the optimizer."""


def words(node: ast.expr) -> str:
    """A test as written, for messages."""
    try:
        written = as_written(node)
        return written[1:-1] if isinstance(node, ast.Tuple) and written.startswith("(") else written
    except (RecursionError, ValueError):
        return "…"


def short(text: str) -> str:
    """`text` on one line, cut to what a message can carry."""
    text = " ".join(text.split())
    return text if len(text) <= SHORT else text[: SHORT - 1] + "…"


def names_in(test: ast.expr) -> list[str]:
    """The names and attributes in a test, breadth first."""
    return names_among(walked(test))


def names_among(nodes: Sequence[ast.AST]) -> list[str]:
    """The names and attributes that are among nodes."""
    found = []
    for node in nodes:
        if type(node) is ast.Name:
            found.append(node.id)
        elif type(node) is ast.Attribute:
            found.append(node.attr)
    return found


def name_of(node: ast.expr) -> str:
    """The last name of `name` or `base.name`; else empty."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def has_modulus(nodes: Sequence[ast.AST]) -> bool:
    """Whether a count is taken modulo something, but for gradients that are accumulated."""
    for node in nodes:
        if type(node) is not ast.BinOp or type(node.op) is not ast.Mod:
            continue
        if not isinstance(node.left, ast.Constant | ast.JoinedStr) and not _ACCUMULATES.search(name_of(node.right)):
            return True
    return False


def counts_accumulated(test: ast.Compare) -> bool:
    """`state.acc_step == 0`, `i == accumulation_steps - 1`: one of the batches that gradients are accumulated over."""
    return any(_ACCUMULATES.search(name) for name in names_in(test))


def walked(root: ast.expr, limit: int = 200) -> list[ast.AST]:
    """The nodes of a test, breadth first; a test with more than `limit` nodes is cut off."""
    nodes: list[ast.AST] = [root]
    for node in nodes:
        if len(nodes) > limit:
            break
        if (kind := type(node)) not in LEAVES:
            nodes += CHILDREN[kind](node)
    return nodes
