"""The schedule of a diffusion sampler: where `scheduler.timesteps` live, by diffusers' public interface.

`scheduler.set_timesteps(n, device=device)` makes them on the device, without `device` they stay on the host. What
pipelines call `retrieve_timesteps` does the same and hands them back.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchperf_lint.facts.devices.devices import device_of
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.facts.syntax.arguments import keyword, unpacks
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_none
from torchperf_lint.facts.values.value import (
    ANYWHERE,
    DEVICE,
    HOST,
    PLAIN,
    UNKNOWN,
    Frame,
    Value,
    join,
    sequence,
    tensor,
)
from torchperf_lint.model import Confidence

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

TIMESTEPS = "timesteps"
RETRIEVE = "retrieve_timesteps"
_SET = "set_timesteps"
_DEVICE_POSITION = {_SET: 1, RETRIEVE: 2}
_MAX_CALLS = 8
_WORDS = "timesteps of a diffusion scheduler"


def timesteps_of(values: Values, scheduler: ast.expr, frame: Frame) -> Value:
    """`scheduler.timesteps`, by the calls in the file that set them; those of the same function first."""
    name = last_part(chain(scheduler))
    if not name or name == "self":
        return UNKNOWN
    key = (TIMESTEPS, frame.path, frame.function, name)
    return values.remembered(key, frame, lambda at: _set_in_file(values, name, at))


def is_schedule(value: Value) -> bool:
    """Whether a value is known to be a scheduler's timesteps: one tensor, whatever hands it on."""
    return value.kind == "tensor" and _WORDS in value.because


def _set_in_file(values: Values, name: str, frame: Frame) -> Value:
    calls = [c for c in values.index.outlines[frame.path].calls if last_part(c.callee) in _DEVICE_POSITION]
    near = [c for c in calls if c.function == frame.function]
    for chosen in (near, calls):
        found = list(_set_by(values, name, chosen[:_MAX_CALLS], frame))
        if found:
            return join(found)
    return UNKNOWN


def _set_by(values: Values, name: str, calls: list[Call], frame: Frame) -> Iterator[Value]:
    """What each call leaves in `name.timesteps`, of the calls that are about it."""
    body = values.body(frame.path)
    for call in calls:
        node = body.node_of(call) if body is not None else None
        if node is not None and last_part(chain(_scheduler(node))) == name:
            yield _placed(values, node, frame.hop(frame.path, call.function, (call.line, call.column)))


def _scheduler(node: ast.Call) -> ast.expr:
    """The scheduler that a call is about; the call itself where it names none."""
    if isinstance(node.func, ast.Attribute) and node.func.attr == _SET:
        return node.func.value
    return node.args[0] if node.args else next((k.value for k in node.keywords if k.arg == "scheduler"), node)


def _placed(values: Values, node: ast.Call, frame: Frame) -> Value:
    written = last_part(chain(node.func))
    position = _DEVICE_POSITION[written]
    given = keyword(node, "device")
    if given is None and len(node.args) > position:
        given = node.args[position]
    unpacked = unpacks(node)
    device: str | None
    if given is None:
        device = ANYWHERE if unpacked else HOST
    else:
        device = HOST if is_none(given) else device_of(values, given, frame)
    to = f"(..., device={ast.unparse(given)})" if given is not None and device == DEVICE else "(...)"
    because = f"{_WORDS}, which `{written}{to}` set (line {node.lineno})"
    return tensor(device or ANYWHERE, because, Confidence.LIKELY)


def retrieved(values: Values, node: ast.Call, frame: Frame) -> Value:
    """What `retrieve_timesteps(scheduler, n, device)` hands back: the timesteps, and their number."""
    steps = _placed(values, node, frame)
    return sequence(join((steps, PLAIN)), (steps, PLAIN))
