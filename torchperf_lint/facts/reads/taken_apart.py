"""Python's own functions over a tensor: `sum(t)`, `max(lengths)`, `any(mask)` take it apart, element by element."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.element_loops.single import is_one_tensor
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.values.value import Value

_ADDS = ("sum",)
_ASKS = ("max", "min", "any", "all", "sorted")
"""What compares or asks each element on the host."""
_METHODS = {"sorted": "sort()"}
"""What a tensor calls it, where the names differ."""


class TakenApart(NamedTuple):
    """A call that walks over the elements of a tensor."""

    site: Site
    tensor: ast.expr
    value: Value
    reads: bool
    """Whether each element is read on the host."""

    @property
    def method(self) -> str:
        """What does the same at once, as written behind the tensor."""
        name = self.site.record.callee
        return _METHODS.get(name, f"{name}()")

    @property
    def instead(self) -> str:
        """What to write."""
        written = self.site.file.brief(self.tensor)
        whole = isinstance(self.tensor, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
        return f"ask the tensor, which does it at once: `{written if whole else f'({written})'}.{self.method}`"


def taken_apart(file: SourceFile) -> Iterator[TakenApart]:
    """The hot calls of Python's own reductions on what is known to be one tensor."""
    for site in file.hot_calls(*_ADDS, *_ASKS):
        call = site.call
        if not isinstance(call.func, ast.Name) or len(call.args) != 1 or call.keywords:
            continue
        if site.hot is None or site.hot.kind == "data":
            continue
        tensor = call.args[0]
        if isinstance(tensor, ast.GeneratorExp | ast.ListComp | ast.Starred) or not _is_built_in(file, site):
            continue
        value = on_device(file, site, tensor)
        if value is not None and value.kind == "tensor" and is_one_tensor(file, site, tensor):
            yield TakenApart(site, tensor, value, call.func.id in _ASKS)


def _is_built_in(file: SourceFile, site: Site) -> bool:
    return (file.denotes(site.call.func, site) or "builtins.").startswith("builtins.")
