"""Lists of indices that a configuration holds: `x[..., self.config.target_indices]`, or an attribute set to such.

A configuration is written to a file as text: it holds numbers, lists and names, and no tensors.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.constants.held import set_by_constructors
from torchperf_lint.facts.files.spots import Spot
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.patterns import pattern

_OF_CONFIGURATION = pattern(r"(?:^|[._])(?:config|cfg)\.(?:\w+\.)*(?:\w+_)?(?:indices|indexes|inds|idxs)$")
"""The plural: one index, a number, needs no copy."""


def is_configured_list(spot: Spot, index: ast.Attribute) -> bool:
    """Whether an index is a list of a configuration's, as far as names tell and nothing else is known of it."""
    if spot.file.value(index, spot).kind not in ("unknown", "sequence"):
        return False
    return _OF_CONFIGURATION.search(chain(index)) is not None or _is_set_to_one(spot, index)


def _is_set_to_one(spot: Spot, index: ast.Attribute) -> bool:
    """Whether the constructor takes an attribute of `self` from a configuration, and nothing else changes it."""
    values = spot.file.project.values
    own = values.index.class_of(spot.file.path, spot.function)
    if own is None or values.thing(index.value, spot.frame) != own:
        return False
    taken = set_by_constructors(values, own, index)
    return bool(taken) and all(_OF_CONFIGURATION.search(chain(value)) for value in taken)
