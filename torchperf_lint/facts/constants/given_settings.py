"""Parameters for which every caller hands on a part of a configuration, `evaluate(pred, cfg.parts_of)`.

What a configuration holds are numbers, texts and lists of them, and no tensors.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.constants.configured import is_configuration

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_MAX_CALLERS = 12


def is_given_setting(values: Values, key: FunctionKey, name: str) -> bool:
    """Whether a parameter, bound to nothing else, is part of a configuration in every call."""
    record, body = values.index.function(key), values.body(key.path)
    if body is None or name not in {p.name for p in record.parameters} or body.definitions(key.index).get(name):
        return False
    sites = values.hotness.callers.get(key, ())
    calls = [call_at(values, site) for site in sites[: _MAX_CALLERS + 1]]
    given = [argument_for(call, record, name) if call is not None else None for call in calls]
    parts = (isinstance(part, ast.Attribute) and is_configuration(part.value) for part in given)
    return 0 < len(given) <= _MAX_CALLERS and all(parts)
