"""Our frames from which compiled code is called: what stands in the place of a module's call and an optimizer's step.

Dynamo's logs tell the stack above what it compiles, without the frames of files that have `eval_frame` in their names:
such are its own wrappers, and so are these. What it traces is the original alone, as `is_tracing()` is True to it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from sys import _getframe
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchperf_lint.runtime.probes.requests import _Calls

TELLS = "_tells_torchperf_lint"
"""An attribute of a step that is ours."""


def is_tracing(torch: Any) -> Callable[[], bool]:  # noqa: ANN401
    """What Dynamo takes for a constant; torch before 2.1 has none, and its Dynamo passes `__call__` by."""
    compiler = getattr(torch, "compiler", None)
    found: Callable[[], bool] = getattr(compiler, "is_dynamo_compiling", getattr(compiler, "is_compiling", bool))
    return found


def calling(torch: Any, calls: _Calls, original: Any) -> Any:  # noqa: ANN401
    """What tells of outermost calls, in the place of `nn.Module.__call__` or of a class's."""
    traced, has_gradients, timeline = is_tracing(torch), torch.is_grad_enabled, calls.timeline

    @functools.wraps(torch.nn.Module.__call__)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        if traced() or not calls.awake:
            return original(self, *args, **kwargs)
        here = calls.requests.here
        if here.inside:
            return original(self, *args, **kwargs)
        calls.seen(type(self))
        if calls.waiting:
            calls.tells(self)
        if calls.learns and has_gradients() and self.training:
            # Most calls of a loop without a loader: there is nothing to note, but that those within are no others.
            if timeline.stepped_on:
                calls.leads(self)
            here.inside = True
            try:
                return original(self, *args, **kwargs)
            finally:
                here.inside = False
        calls.begins(self)
        try:
            return original(self, *args, **kwargs)
        finally:
            calls.ends()

    return call


def current_call(module_class: Any) -> Any:  # noqa: ANN401
    """What calls modules at the time: somebody may replace it while ours is at their classes."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        return module_class.__call__(self, *args, **kwargs)

    return call


def stepping(original: Any, traced: Callable[[], bool], begins: Any, ends: Any) -> Any:  # noqa: ANN401
    """The `step` of a class of optimizers, which tells when it begins and, with its optimizer, when it has ended."""

    @functools.wraps(original)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        if traced():
            return original(self, *args, **kwargs)
        begins(_getframe(1))
        returned = original(self, *args, **kwargs)
        ends(self)
        return returned

    setattr(step, TELLS, True)
    return step
