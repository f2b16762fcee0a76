"""Options that are off by default, and that hot code passes nevertheless; parameters that no hot code leaves out.

def train_step(model, batch, ema=None):          for batch in loader:
    if ema is not None:                              train_step(model, batch, ema=ema)
        ...
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from torchperf_lint.facts.bodies import Body
from torchperf_lint.facts.index import CallSite, FunctionKey, Index


def options_around(index: Index, path: str, number: int) -> set[str]:
    """The parameters with defaults that the guards around a region ask for, inside its function."""
    regions = index.outlines[path].regions
    function = index.function(FunctionKey(path, regions[number].function))
    asked: set[str] = set()
    while number >= 0 and regions[number].kind != "function":
        if regions[number].kind == "optional":
            asked |= set(re.findall(r"\w+", regions[number].detail))
        number = regions[number].parent
    return asked & {p.name for p in function.parameters if p.default}


def left_out_around(index: Index, path: str, number: int) -> set[str]:
    """The parameters that the guards around a region want to be left out, inside its function: `if turns is None:`."""
    regions = index.outlines[path].regions
    found = set()
    while number >= 0 and regions[number].kind != "function":
        if regions[number].kind == "unasked":
            found.add(regions[number].detail)
        number = regions[number].parent
    return found


def passes(index: Index, body_of: Callable[[str], Body | None], key: FunctionKey, site: CallSite, name: str) -> bool:
    """Whether a call gives a parameter something that is no literal, nor an option that is off by default itself."""
    body = body_of(site.path)
    call = body.node_of(site.call) if body is not None else None
    if not isinstance(call, ast.Call) or any(isinstance(a, ast.Starred) for a in call.args):
        return False
    function = index.function(key)
    names = [p.name for p in function.parameters][function.bound :]
    given = {k.arg: k.value for k in call.keywords} | dict(zip(names, call.args, strict=False))
    value = given.get(name)
    if value is None or isinstance(value, ast.Constant):
        return False
    caller = index.function(FunctionKey(site.path, site.call.function))
    return not (isinstance(value, ast.Name) and value.id in {p.name for p in caller.parameters if p.default})
