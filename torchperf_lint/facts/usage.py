"""What a name must be, from what its function asks of it."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from torchperf_lint.facts import torch_api as api
from torchperf_lint.facts.bodies import Body
from torchperf_lint.facts.chains import chain
from torchperf_lint.facts.loops import LOADER_NAME, is_plural
from torchperf_lint.facts.nominal import from_thing
from torchperf_lint.facts.value import (
    ANYWHERE,
    HOST,
    UNKNOWN,
    Frame,
    Value,
    tensor,
)
from torchperf_lint.model import Confidence

if TYPE_CHECKING:
    from torchperf_lint.facts.values import Values


_STEP_COUNTER = re.compile(
    r"(?:^|[._\[])(?:state_)?steps?(?:_t)?\]?$|(?:^|[._\[])(?:mu_product|bias_correction)s?\d?\]?$"
)
_LOSS = re.compile(r"(?:^|[._\[])(?:\w+_)?loss\]?$")


def counts_steps(name: str) -> bool:
    """Whether a name is that of an optimizer's count of steps, or of what follows from the count."""
    return bool(_STEP_COUNTER.search(name))


def counter(name: str) -> Value:
    """The value of a count of steps."""
    return tensor(HOST, f"`{name}` counts an optimizer's steps, which torch does on the host")


def value_by_uses(values: Values, node: ast.expr, frame: Frame) -> Value:
    """What an item or attribute of something unknown must be, from what the function asks of it."""
    body = values.body(frame.path)
    written = chain(node)
    return UNKNOWN if body is None or "?" in written else from_uses(values, written, frame, body)


def from_uses(values: Values, name: str, frame: Frame, body: Body, returned: bool = False) -> Value:
    """What a name must be, from the attributes that the function asks of it. `returned`: whether a call gave it."""
    if counts_steps(name) and not returned:
        return counter(name)
    used = used_as_module(name, frame, body)
    return used if used is not None else _tensor_or_loader(values, name, frame, body)


def _tensor_or_loader(values: Values, name: str, frame: Frame, body: Body) -> Value:
    uses = body.uses(frame.function, name)
    trained = _trained_on(name, uses)
    if trained is not None:
        return trained
    part_of = body.backward_operands(frame.function).get(name)
    if part_of is not None:
        return tensor(ANYWHERE, f"`{name}` is part of what `backward` runs on (line {part_of})")
    for attribute, line in uses:
        if attribute in api.TENSOR_ONLY_METHODS:
            because = f"`{name}` is used as a tensor: `{name}.{attribute}` (line {line})"
            return tensor(ANYWHERE, because, Confidence.LIKELY)
    for attribute, line in body.uses(frame.function, f"{name}.cpu()"):
        if attribute in ("numpy", *api.TENSOR_MARKS):
            because = f"`{name}` is used as a tensor: `{name}.cpu().{attribute}` (line {line})"
            return tensor(ANYWHERE, because, Confidence.LIKELY)
    for callee, line in body.passed_to(frame.function, name):
        thing = values.types.thing(frame.path, frame.function, callee) if callee.startswith("self.") else None
        if thing is not None and from_thing(values, thing, callee).kind == "module":
            because = f"`{name}` is handed to the module `{callee}` (line {line})"
            return tensor(ANYWHERE, because, Confidence.LIKELY)
    if not LOADER_NAME.search(name) or is_plural(name):
        return UNKNOWN
    iterated = any(r.iterable == name for r in values.index.outlines[frame.path].regions if r.kind == "loop")
    if iterated or name in body.iterators(frame.function):
        return Value("loader", HOST, "a DataLoader, by its name and use", Confidence.LIKELY)
    return UNKNOWN


def _trained_on(name: str, uses: list[tuple[str, int]]) -> Value | None:
    """What has gradients, or is a loss by its name and read by `.item()`."""
    for attribute, line in uses:
        if attribute == "backward":
            return tensor(ANYWHERE, f"`{name}` has gradients: `{name}.backward()` (line {line})")
    for attribute, line in uses if _LOSS.search(name) else ():
        if attribute == "item":
            because = f"`{name}`, a loss by its name: `{name}.item()` (line {line})"
            return tensor(ANYWHERE, because, Confidence.LIKELY)
    return None


def used_as_module(name: str, frame: Frame, body: Body) -> Value | None:
    """A module, where the function uses the name as one."""
    for attribute, line in body.uses(frame.function, name):
        if attribute in api.MODULE_USES:
            because = f"`{name}` is used as a module: `{name}.{attribute}` (line {line})"
            return Value("module", ANYWHERE, because, Confidence.LIKELY)
    return None
