"""Parts of what a call gives that are sizes by their names, whatever else was seen to come back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.values.attributes import SIZES
from torchperf_lint.patterns import pattern

_DIMENSION = pattern(r"(?:[bcdfhlntw]|height|width|frames?|length|depth)\d?$")


def is_size(name: str, d: Definition, definitions: Mapping[str, Sequence[Definition]]) -> bool:
    """Whether a part is a size by its name: `for edges, _, size in parts`, and `h` of `x, (h, w) = f(x)`.

    There `f` gives more than a tensor, of which nobody takes parts, and parts of parts. `definitions` are those of the
    function, by their names.
    """
    if SIZES.search(name):
        return True
    if d.how != "item" or len(d.index) == 1 or not _DIMENSION.match(name):
        return False
    others = (other for found in definitions.values() for other in found)
    return any(other.value is d.value and len(other.index) == 1 for other in others)
