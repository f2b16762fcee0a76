"""Wrappers of modules that come off again before the module runs."""

from __future__ import annotations

from torchperf_lint.facts.outlines.records import Call, Outline
from torchperf_lint.facts.syntax.chains import last_part

_LOADING = frozenset(
    "load print info debug warning join exists isfile is_file device open format items keys len".split()
)


def taken_off_again(outline: Outline, wrapping: Call) -> bool:
    """Whether `x = Wrapper(model)` only lasts until `x = x.module` or `return x.module`, without a call of `x`."""
    here = [b for b in outline.bindings if b.function == wrapping.function]
    made = [b for b in here if b.line == wrapping.line and b.value.startswith(f"{wrapping.callee}()")]
    if not made:
        written = f"{wrapping.callee}()."
        return any(c.callee.startswith(written) and _starts_alike(c, wrapping) for c in outline.calls)
    name, value = made[0].target, made[0].value
    if value == f"{wrapping.callee}().module":
        return True
    last = _line_of_module(outline, wrapping, name)
    if last is None or value != f"{wrapping.callee}()":
        return False
    calls = (c for c in outline.calls if c.function == wrapping.function and wrapping.line < c.line < last)
    return all(_only_loads(c, name) and outline.regions[c.region].kind != "loop" for c in calls)


def _only_loads(call: Call, name: str) -> bool:
    """Whether a call cannot run the wrapped module: others might be handed it."""
    return call.callee.startswith(f"{name}.") or last_part(call.callee) in _LOADING


def _starts_alike(call: Call, wrapping: Call) -> bool:
    """`Wrapper(model).load_state_dict(...)`: nobody keeps the wrapper."""
    kept = call.callee.endswith((".load_state_dict", ".state_dict"))
    return kept and (call.line, call.column) == (wrapping.line, wrapping.column)


def _line_of_module(outline: Outline, wrapping: Call, name: str) -> int | None:
    """Where the name is bound to the wrapped module again, or that is returned; None when it never is."""
    for b in outline.bindings:
        if b.function == wrapping.function and b.line > wrapping.line and b.target == name:
            return b.line if b.value == f"{name}.module" else None
    function = outline.functions[wrapping.function]
    returned = [value for index, value in outline.returns if index == wrapping.function]
    return function.end_line + 1 if returned and all(value == f"{name}.module" for value in returned) else None
