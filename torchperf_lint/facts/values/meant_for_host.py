"""Parameters that are tensors on the host by what they are for, or by what they are called."""

from __future__ import annotations

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.values.value import ANYWHERE, HOST, Frame, Value
from torchperf_lint.patterns import pattern

_SAYS_HOST = pattern(r"_(?:host|cpu)$|^(?:host|cpu)_")
"""Names by which code tells its copy on the host from the one on the device."""


def says_host(name: str) -> bool:
    """`x_host`, `labels_cpu`, `cpu_scores`."""
    return _SAYS_HOST.search(name) is not None


def meant_for_host(value: Value, name: str, frame: Frame, body: Body) -> bool:
    """Whether a parameter with a value takes a tensor on the host."""
    if value.kind != "tensor" or value.device == HOST:
        return False
    return _are_lengths(name, frame, body) or (value.device == ANYWHERE and says_host(name))


def _are_lengths(name: str, frame: Frame, body: Body) -> bool:
    """Whether a parameter goes to `pack_padded_sequence` as it is: torch refuses lengths that are not on the host."""
    given = body.passed_to(frame.function, name)
    packed = any(position == 1 and callee.endswith("pack_padded_sequence") for callee, _, position in given)
    return packed and not body.definitions(frame.function).get(name)
