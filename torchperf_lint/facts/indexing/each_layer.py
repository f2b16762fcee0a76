"""Places of tokens that each attention layer looks for anew, though all layers get the same mask.

    class FlashAttention(nn.Module):
        def forward(self, x, attention_mask):
            places = torch.nonzero(attention_mask.flatten()).flatten()

Found before the layers and handed to them, they cost one wait in a forward pass.
"""

from __future__ import annotations

import ast
import re

from torchperf_lint.facts.files.spots import Spot
from torchperf_lint.facts.indexing.selections import INDICES, Selection
from torchperf_lint.patterns import pattern

_MASK = pattern(r"^(?:\w+_)?(?:attention|attn|pad(?:ding)?)_mask$", re.IGNORECASE)
_LAYER = pattern(r"^(?!\w*Pool)\w*(?:Attention|Attn)\w*\.forward$")
"""The `forward` that makes a line hot; what pools has one layer of attention."""
_SAME_PLACES = frozenset({"flatten", "view", "reshape", "bool", "to", "int", "long"})


def is_found_in_each_layer(selection: Selection) -> bool:
    """Whether the elements of a mask that the whole model is given are searched for in an attention layer."""
    spot = selection.spot
    if selection.form != INDICES or not _runs_in_a_layer(spot):
        return False
    mask = selection.mask
    while isinstance(mask, ast.Call) and isinstance(mask.func, ast.Attribute) and mask.func.attr in _SAME_PLACES:
        mask = mask.func.value
    body = spot.file.project.body(spot.file.path)
    if body is None or not isinstance(mask, ast.Name) or not _MASK.match(mask.id):
        return False
    given = {parameter.name for parameter in spot.file.outline.functions[spot.function].parameters}
    return mask.id in given and not body.reaching(spot.function, mask.id, body.at(mask))


def _runs_in_a_layer(spot: Spot) -> bool:
    hot = spot.hot
    if hot.kind != "forward":
        return False
    functions = spot.file.project.index.outlines[hot.path].functions
    return any(_LAYER.match(function.qualname) for function in functions if function.header_line == hot.line)
