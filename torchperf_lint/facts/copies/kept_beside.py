"""Attributes that a constructor leaves on the host, moved beside others of the same object that stay there.

A scheduler's `timesteps`: a pipeline has `set_timesteps(n, device)` bring them to the device, training goes without and
moves them at every step. That `sigmas`, which nothing brings there, is moved to the same device in the same function
shows that the function does not count on it.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.constants.held import builds
from torchperf_lint.facts.copies.left_behind import left_behind, moves_its_own, set_to
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.syntax.arguments import moved_to
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values.attributes import setters
from torchperf_lint.facts.values.value import HOST, Value
from torchperf_lint.model import Confidence


def kept_beside(site: Site, receiver: ast.Attribute) -> Value | None:
    """What `self.timesteps` is that a constructor set on the host, moved with another that stays there; else None."""
    values = site.file.project.values
    own = values.index.class_of(site.file.path, site.function)
    if own is None or values.thing(receiver.value, site.frame) != own or moves_its_own(values, own):
        return None
    beside = _moved_alike(site, receiver)
    if beside is None:
        return None
    line, elsewhere = 0, ""
    for cls in values.index.ancestry(own):
        for function, value, _ in setters(values, cls, receiver.attr) if cls.kind == "class" else ():
            if builds(values, FunctionKey(cls.path, function)):
                held = set_to(values, cls, function, value, receiver.attr, several=False)
                if held is None or held.value.confidence is not Confidence.CERTAIN:
                    return None
                line = value.lineno
            else:
                elsewhere = values.index.outlines[cls.path].functions[function].name
    if not line or not elsewhere:
        return None
    because = (
        f"`self.{receiver.attr}` is a plain attribute, set to a tensor on the host (line {line}); `{elsewhere}` sets "
        f"it anew, and `self.{beside}`, moved beside it, stays on the host"
    )
    return Value("tensor", HOST, because, Confidence.LIKELY)


def _moved_alike(site: Site, receiver: ast.Attribute) -> str | None:
    """The name of another attribute, on the host, that the same function moves to the same device."""
    values, target = site.file.project.values, _target(site.call)
    for other in site.file.hot_calls("to"):
        if other.function != site.function or other.receiver is None or target is None:
            continue
        attribute = other.receiver
        if not isinstance(attribute, ast.Attribute) or attribute.attr == receiver.attr or _target(other.call) != target:
            continue
        held = left_behind(values, attribute, other.frame)
        if held is not None and not held.in_module:
            return held.name
    return None


def _target(call: ast.Call) -> str | None:
    """Where a `.to(...)` moves, as written."""
    device = moved_to(call)
    return ast.unparse(device) if device is not None and chain(device) else None
