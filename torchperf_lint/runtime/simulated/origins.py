"""Which line of the forward pass a gradient belongs to, where Python only shows `loss.backward()`.

    chosen = x[mask]      # autograd makes a node, then the kernel runs: here, where the line is known
    chosen.sum().backward()      # the node's formula counts the mask again

Autograd numbers its nodes, on each thread anew; the number says which call made one, and the node's name tells whether
that is so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import torch

Line = TypeVar("Line")
_MOST = 100_000
"""So many calls may wait for their backward pass; where there were more, the oldest are not known any longer."""

_COUNTED = ("index", "_index_put_impl_", "_to_copy", "masked_select", "masked_fill_", "masked_fill", "prod", "cumprod")
_NAMED = {
    **{f"aten::{name}": name.strip("_").removesuffix("_impl") for name in _COUNTED},
    "aten::_to_copy": "to",
    "aten::masked_scatter": "masked_scatter",
    "aten::masked_scatter_": "masked_scatter",
}
"""Operators whose gradients wait or copy, and what a script calls them."""

_node = getattr(torch._C, "_current_autograd_node", None)
_next_number = getattr(getattr(torch._C, "_autograd", None), "_get_sequence_nr", None)


class Origins(Generic[Line]):
    """Remembers where operators were called, while somebody wants to know."""

    def __init__(self) -> None:
        self.locate: Callable[[], Line | None] | None = None
        """Says where the script is; None while nobody asks."""
        self._known: dict[tuple[int, str], Line | None] = {}
        """By the number of a node and its operation: a call without a node comes at the number of the one before it."""

    def called(self, operator: str) -> None:
        """In the kernel of an operator, by its full name: autograd has just made its node, if it has one."""
        name = _NAMED.get(operator.partition(".")[0])
        if name is None or self.locate is None or _next_number is None or not torch.is_grad_enabled():
            return
        if _node is not None and _node() is not None:
            return
        made = _next_number() - 1, name
        if made in self._known:  # nothing was made since: this call has no node
            return
        self._known[made] = self.locate()
        if len(self._known) > _MOST:
            del self._known[next(iter(self._known))]

    def of(self, operation: str) -> Line | None:
        """Where the node that autograd computes now was made, the gradient of this operation; None if not known."""
        node: Any = _node() if _node is not None else None
        number = getattr(node, "_sequence_nr", None)
        return self._known.get((number(), operation)) if number is not None else None


ORIGINS: Origins[Any] = Origins()
