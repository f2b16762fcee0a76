"""Batches that are converted on the host before they are copied: `x.to(torch.bfloat16).cuda()`, `x.float().to(device)`.

What a conversion makes there is a new tensor, which no loader has pinned. In one call that does not block,
`x.to(device, torch.bfloat16, non_blocking=True)`, torch copies what was pinned and converts it on the device.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchperf_lint.facts.chains import chain, last_part

_DTYPES = {
    "float": "torch.float32",
    "double": "torch.float64",
    "half": "torch.float16",
    "bfloat16": "torch.bfloat16",
    "long": "torch.int64",
    "int": "torch.int32",
    "bool": "torch.bool",
}
"""Methods without arguments -> what they convert to."""
_NEVER_LOADED = frozenset({"half", "float16", "bfloat16"})
"""Types that batches of a loader hardly ever have: a conversion to one of them makes a new tensor."""


class Conversion(NamedTuple):
    """What a copy to the device is called of."""

    of: ast.expr
    """What is converted."""
    dtype: str
    """To what, as written."""
    made: bool
    """Whether that surely makes a new tensor; `x.float()` gives back what is float32 already."""


def converted_first(call: ast.Call) -> Conversion | None:
    """The conversion whose result `.to(device)` or `.cuda()` copies; None where these convert as well."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("to", "cuda") or len(call.args) > 1:
        return None
    if any(keyword.arg not in ("device", "non_blocking") for keyword in call.keywords):
        return None
    inner = call.func.value
    if not isinstance(inner, ast.Call) or not isinstance(inner.func, ast.Attribute):
        return None
    of, method = inner.func.value, inner.func.attr
    if method in _DTYPES and not inner.args and not inner.keywords:
        return Conversion(of, _DTYPES[method], method in _NEVER_LOADED)
    if method != "to" or len(inner.args) + len(inner.keywords) != 1:
        return None
    given = inner.args[0] if inner.args else inner.keywords[0].value
    dtype = chain(given)
    name = last_part(dtype)
    if inner.keywords and inner.keywords[0].arg != "dtype":
        return None
    if not dtype.startswith(("torch.", "th.")) or name not in {*_DTYPES.keys(), *map(last_part, _DTYPES.values())}:
        return None
    return Conversion(of, dtype, name in _NEVER_LOADED)


def in_one_call(call: ast.Call, conversion: Conversion) -> str:
    """The copy and the conversion as one call."""
    asked = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "device"), None)
    device = ast.unparse(asked) if asked is not None else '"cuda"'
    return f"{ast.unparse(conversion.of)}.to({device}, {conversion.dtype}, non_blocking=True)"
