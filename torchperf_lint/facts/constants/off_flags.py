"""Flags that are off by default, and have to be set for a branch: what is done there is done on request.

def forward(self, x, return_attention=False):
    y, weights = self.attention(x)
    if return_attention:
        return weights
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.hints import default_of
from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.syntax.literals import is_literal, is_none, is_true
from torchperf_lint.patterns import pattern

_NO_FLAG = ("training", "drop")
_LEARNT_FROM = pattern(r"(?:^|_)(?:labels?|targets?)$")
"""What `forward(x, labels=None)` is given in every step that trains."""


class OffFlags:
    """The flags of one function: its parameters, and what its object is configured with."""

    def __init__(self, file: SourceFile, function: int, numbers: bool = False) -> None:
        """`numbers`: whether `if self.decay > 0:` asks as well, where the default is 0."""
        self.file = file
        self.function = function
        self.numbers = numbers

    def before(self, node: ast.expr) -> str | None:
        """The flag that has to be set for a node to be computed, if a branch around it asks for one."""
        inner: ast.AST = node
        for parent in self.file.enclosing(self.function).around(node):
            if isinstance(parent, ast.If | ast.IfExp) and inner is not parent.test:
                body = parent.body if isinstance(parent.body, list) else [parent.body]
                flag = self.asking(parent.test, inner in body)
                if flag is not None and self._is_left_off(flag):
                    return flag
            inner = parent
        return None

    def _is_left_off(self, flag: str) -> bool:
        """Whether the default is no, in so many words, and not all callers in sight say yes."""
        default = self._default(flag)
        if not isinstance(default, ast.Constant) or default.value:
            return False
        project, key = self.file.project, FunctionKey(self.file.path, self.function)
        sites = () if "." in flag else project.hotness.callers.get(key, ())
        given = [self._given(site, flag) for site in sites]
        return not given or any(value is None or not is_true(value) for value in given)

    def _given(self, site: CallSite, flag: str) -> ast.expr | None:
        """What a call gives a parameter."""
        node = call_at(self.file.project.values, site)
        record = self.file.outline.functions[self.function]
        return argument_for(node, record, flag) if node is not None else None

    def asking(self, test: ast.expr, taken: bool) -> str | None:
        """The flag that has to be set for a branch, if it is off by default."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self.asking(test.operand, not taken)
        if isinstance(test, ast.BoolOp):
            every = isinstance(test.op, ast.And) == taken
            found = [self.asking(value, taken) for value in test.values]
            return next((f for f in found if f is not None), None) if every or None not in found else None
        written = ast.unparse(test)
        if any(word in written for word in _NO_FLAG):
            return None
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and is_none(test.comparators[0]):
            given = isinstance(test.ops[0], ast.IsNot) == taken
            name = ast.unparse(test.left)
            usual = ("mask" in name and "head" not in name) or _LEARNT_FROM.search(name) is not None
            return name if given and not usual and is_none(self._default(name)) else None
        if self.numbers and isinstance(test, ast.Compare) and taken and _is_more_than_nothing(test):
            written = ast.unparse(test.left)
            return written if self._is_switch(written) else None
        if not isinstance(test, ast.Name | ast.Attribute) or not taken:
            return None
        return None if is_true(self._default(written)) or not self._is_switch(written) else written

    def _is_switch(self, name: str) -> bool:
        """Whether a name is one of a parameter, or of an attribute that is configured."""
        parameters = self.file.outline.functions[self.function].parameters
        return "." in name or any(p.name == name for p in parameters)

    def _default(self, name: str) -> ast.expr | None:
        """The default of the parameter that a name is, or that the constructor keeps under it."""
        nodes = [self.file.enclosing(self.function).top]
        if name.startswith("self."):
            outline = self.file.outline
            own = outline.functions[self.function].class_index
            makers = [n for n, f in enumerate(outline.functions) if f.class_index == own and f.name == "__init__"]
            nodes = [self.file.enclosing(n).top for n in makers]
        last = name.rpartition(".")[2].lstrip("_")
        return next((found for node in nodes if (found := default_of(node, last)) is not None), None)


def _is_more_than_nothing(test: ast.Compare) -> bool:
    """`x > 0`, `x != 0`."""
    return isinstance(test.ops[0], ast.Gt | ast.NotEq) and len(test.ops) == 1 and is_literal(test.comparators[0], 0)
