"""What an operator's schema says about running it: what it writes to, what it returns, whether it draws numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import torch


@dataclass(frozen=True)
class Plan:
    """How to carry one operator's results back to the device."""

    returned: tuple[str | None, ...]
    """For each result the name of the argument it is, or None for a new tensor."""
    outs: frozenset[str]
    """Arguments that only receive results (`out=`), which the operator may resize."""
    draws: bool
    """It has a `generator` argument."""
    names: tuple[str, ...]
    """Its arguments in order."""
    tensors: frozenset[str]
    """Arguments that have to be tensors: torch hands numbers to kernels written in Python as numbers."""


def _written(arguments: Any) -> dict[frozenset[str], str]:  # noqa: ANN401
    marked = [a for a in arguments if a.alias_info is not None and a.alias_info.is_write]
    return {frozenset(a.alias_info.before_set): a.name for a in marked}


@cache
def plan_of(op: Any) -> Plan:  # noqa: ANN401
    """The plan of an OpOverload."""
    schema = op._schema
    written = _written(schema.arguments)
    returned = tuple(
        written.get(frozenset(r.alias_info.before_set)) if r.alias_info is not None else None for r in schema.returns
    )
    return Plan(
        returned=returned,
        outs=frozenset(a.name for a in schema.arguments if a.is_out),
        draws=any(a.name == "generator" for a in schema.arguments),
        names=tuple(a.name for a in schema.arguments),
        tensors=frozenset() if _takes_numbers(op) else frozenset(a.name for a in schema.arguments if _is_tensor(a)),
    )


def _takes_numbers(op: Any) -> bool:  # noqa: ANN401
    return bool(torch._C._should_allow_numbers_as_tensors(op._schema.name.split("::")[1]))


def _is_tensor(argument: Any) -> bool:  # noqa: ANN401
    return str(argument.type) in ("Tensor", "Optional[Tensor]")
