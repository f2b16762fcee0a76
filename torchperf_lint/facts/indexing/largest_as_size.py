"""Sizes that a call is given as a tensor: the largest element of another, which the host has to read all the same."""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.files.source import Place, SourceFile
from torchperf_lint.facts.files.spots import spot_at
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import Value

_HOPS = 3
"""How many names may stand between a size and the tensor: the largest, one more than that, and the larger of two."""
_LARGEST = ("max", "amax")


class Largest(NamedTuple):
    """The largest element of a tensor on the device, where it is read to be a size."""

    tensor: ast.expr
    """What it is the largest element of."""
    value: Value
    compared: ast.Call | None = None
    """A `max` of Python that compares it with another size, and waits before the call that takes the size."""


def largest_as_size(file: SourceFile, place: Place, size: ast.expr, hops: int = _HOPS) -> Largest | None:
    """What `size` is the largest element of, as far as it still is a tensor: `x.max() + 1`, `max(x.max(), n)`.

    What makes it an integer before, `int(x.max())`, reads there, and other rules tell that.
    """
    if isinstance(size, ast.BinOp):
        sides = [s for s in (size.left, size.right) if not isinstance(s, ast.Constant)]
        return largest_as_size(file, place, sides[0], hops) if len(sides) == 1 else None
    if isinstance(size, ast.Name):
        return _bound(file, place, size, hops)
    if not isinstance(size, ast.Call) or last_part(chain(size.func)) not in _LARGEST:
        return None
    if isinstance(size.func, ast.Name) and file.denotes(size.func, place) in (None, "builtins.max"):
        return _larger(file, place, size, hops)
    tensor = _whole(file, place, size)
    value = on_device(file, place, size) if tensor is not None else None
    return Largest(tensor, value) if tensor is not None and value is not None else None


def _bound(file: SourceFile, place: Place, name: ast.Name, hops: int) -> Largest | None:
    """What the only value that reaches a name is."""
    body = file.project.body(file.path)
    reaching = body.reaching(place.function, name.id, body.at(name)) if body is not None else None
    if not reaching or len(reaching) != 1 or hops == 0:
        return None
    value = reaching[0].value if reaching[0].how == "assign" else None
    spot = spot_at(file, value, place.function) if isinstance(value, ast.expr) else None
    return largest_as_size(file, spot, value, hops - 1) if spot is not None and isinstance(value, ast.expr) else None


def _larger(file: SourceFile, place: Place, call: ast.Call, hops: int) -> Largest | None:
    """What a `max` of Python compares with a number."""
    sides = call.args if len(call.args) > 1 and not call.keywords else ()
    found = next((f for side in sides if (f := largest_as_size(file, place, side, hops)) is not None), None)
    return found._replace(compared=call) if found is not None else None


def _whole(file: SourceFile, place: Place, call: ast.Call) -> ast.expr | None:
    """`x` of `x.max()` and `torch.max(x)`, which give one number."""
    dotted = file.denotes(call.func, place) or ""
    if dotted in ("torch.max", "torch.amax"):
        return call.args[0] if len(call.args) == 1 and not call.keywords else None
    whole = isinstance(call.func, ast.Attribute) and not call.args and not call.keywords
    return call.func.value if whole and isinstance(call.func, ast.Attribute) else None
