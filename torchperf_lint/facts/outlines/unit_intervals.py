"""Intervals of one step, unless whoever makes an object asks for more: what stands under them runs in every step.

    class Weights(nn.Module):
        def __init__(self, update_every=1):
            self.update_every = update_every

        def forward(self, losses):
            if self.step % self.update_every != 0:
                return losses.sum()
            ...                                          # each time, by default

An interval for people, `log_every`, is left one: who trains sets it. Decided from one file's syntax.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchperf_lint.facts.outlines.kept_parameters import keeping
from torchperf_lint.facts.outlines.signatures import defaulted
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.syntax import nodes_of
from torchperf_lint.patterns import pattern

_FOR_PEOPLE = pattern(
    r"log|print|save|eval|(?:^|_)val|vis|plot|disp|report|check|ckpt|dump|write|record|show|test|sampl|draw|render|"
    r"image|video|summar|monitor|debug|profil|epoch",
    re.IGNORECASE,
)


class UnitIntervals:
    """Those of one file, class by class."""

    def __init__(self) -> None:
        self._kept: dict[int, frozenset[str]] = {}

    def note(self, number: int, node: ast.ClassDef) -> None:
        """Keep which attributes of a class hold a parameter of its constructor that is one by default."""
        made = next((s for s in node.body if isinstance(s, ast.FunctionDef) and s.name == "__init__"), None)
        names = [name for name in _one_by_default(made.args) if not _FOR_PEOPLE.search(name)] if made else []
        kept = frozenset(attribute for name in names for attribute in keeping(node, name))
        if kept:
            self._kept[number] = kept

    def decides(self, test: ast.expr, class_index: int) -> bool:
        """Whether the only modulus in a test of a method is by such an interval."""
        kept = self._kept.get(class_index)
        if kept is None:
            return False
        moduli = [n for n in nodes_of(test) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod)]
        return bool(moduli) and all(chain(n.right) in kept for n in moduli)


def _one_by_default(args: ast.arguments) -> Iterator[str]:
    for name, default in defaulted(args):
        if isinstance(default, ast.Constant) and type(default.value) in (int, float) and default.value == 1:
            yield name
