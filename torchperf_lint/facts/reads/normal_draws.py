"""Draws of `torch.normal` whose standard deviations are a tensor on the device: torch looks at them on the host first.

ATen asks `std.min().ge(0).item<bool>()` before it draws (since torch 1.9); a number is compared where it is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.files.host_scripts import stays_on_host
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.roles.agents import ENV_STEP
from torchperf_lint.facts.syntax.literals import literal_of
from torchperf_lint.facts.values.value import ANYWHERE, Value, tensor
from torchperf_lint.model import Confidence

_NORMAL = "torch.normal"


class Draw(NamedTuple):
    """A hot draw that waits for the device."""

    site: Site
    deviations: ast.expr
    value: Value


def normal_draws(file: SourceFile) -> Iterator[Draw]:
    """The hot draws of a file whose standard deviations are a tensor on the device."""
    for site in file.calls_of(_NORMAL):
        if site.hot is None or site.hot.kind == "data":
            continue
        mean, deviations = _argument(site, "mean", 0), _argument(site, "std", 1)
        if deviations is None or _takes_numbers(site):
            continue
        value = on_device(file, site, deviations)
        if value is None or value.kind != "tensor":
            value = _beside_a_number(file, site, mean, deviations)
        if value is not None:
            seen = _is_seen(file, site, deviations)
            yield Draw(site, deviations, value if seen else value.weaker(Confidence.POSSIBLE))


def _argument(site: Site, name: str, position: int) -> ast.expr | None:
    return site.keyword(name) or (site.call.args[position] if position < len(site.call.args) else None)


def _takes_numbers(site: Site) -> bool:
    """Whether a size is given, beside which mean and deviation are numbers; or may be, in what is unpacked."""
    call = site.call
    if any(isinstance(argument, ast.Starred) for argument in call.args) or any(k.arg is None for k in call.keywords):
        return True
    return len(call.args) > 2 or site.keyword("size") is not None


def _is_seen(file: SourceFile, site: Site, deviations: ast.expr) -> bool:
    """Whether some part is a tensor by what made it: of a schedule, `sigma.sqrt()`, it may be one on the host."""
    parts = (part for part in ast.walk(deviations) if isinstance(part, ast.Name | ast.Attribute))
    return any(on_device(file, site, part) is not None for part in parts)


def explores(site: Site) -> bool:
    """Whether the function around steps an environment: its draws are noise for actions, which the host waits for."""
    calls = site.file.outline.calls
    return any(call.function == site.function and ENV_STEP.search(call.callee) for call in calls)


def _beside_a_number(file: SourceFile, site: Site, mean: ast.expr | None, deviations: ast.expr) -> Value | None:
    """A tensor, where nothing is known of deviations and the mean is a number: without a size one of the two is one."""
    by_number = mean is None or type(literal_of(mean)) in (int, float)
    if not by_number or file.value(deviations, site).kind != "unknown":
        return None
    if stays_on_host(file) or not file.project.uses_accelerator:
        return None
    because = f"`{file.brief(deviations)}` is a tensor: the mean is a number, and no size is given"
    return tensor(ANYWHERE, because, Confidence.LIKELY)
