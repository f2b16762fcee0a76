"""Keeps Dynamo's hands off our functions.

Where a compiled function breaks off its graph (at `.item()`, say), Python runs on under Dynamo's eye, and it would
compile whatever of ours is called there: slow, and seen in the script's counters. It is told per code object to run
ours as they are, and whatever the probes' callbacks call; the script's own functions below our wrappers it compiles
as before. That decides about frames only: what Dynamo inlines into a graph is another question.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

_PACKAGE = "torchperf_lint.runtime"
MAY_COMPILE = "DYNAMO_MAY_COMPILE"
"""A probe that sets this to True replaces methods at which Dynamo starts a graph."""


def leave_alone(torch: Any, callbacks: set[CodeType]) -> None:  # noqa: ANN401
    """Have our frames run as they are; `callbacks`: those of which the same holds for all they call."""
    skip, skip_deeply = _skippers(_eval_frame(torch))
    for code in list(_codes()):
        (skip_deeply if code in callbacks else skip)(code)


def compiling(torch: Any) -> Callable[[], bool]:  # noqa: ANN401
    """For our wrappers to ask: Dynamo folds its answer to True, and so traces the original alone."""
    compiler = getattr(torch, "compiler", None)
    found: Callable[[], bool] | None = getattr(compiler, "is_compiling", None)
    return found if found is not None else lambda: False


def number_of_backends() -> int:
    """Changes when `would_disturb` may have changed; quick to ask."""
    return len(_backends())


def has_compiled() -> bool:
    """Whether the script has something compiled; some of Dynamo's own wrappers stand there without a backend."""
    return any(backend is not None for backend in list(_backends().values()))


def would_disturb() -> bool:
    """Whether the script has something compiled and this torch would compile trace functions of ours as well.

    That torch._dynamo is imported says nothing: every optimizer does it.
    """
    torch = sys.modules.get("torch")
    return has_compiled() and not hasattr(_eval_frame(torch), "set_code_exec_strategy")


def _backends() -> dict[int, object]:
    found: dict[int, object] = getattr(sys.modules.get("torch._dynamo.eval_frame"), "cached_backends", {})
    return found


def _eval_frame(torch: Any) -> Any:  # noqa: ANN401
    return getattr(getattr(getattr(torch, "_C", None), "_dynamo", None), "eval_frame", None)


def _skippers(eval_frame: Any) -> tuple[Callable[[CodeType], object], Callable[[CodeType], object]]:  # noqa: ANN401
    """Both by the means this torch has: 2.7 and later tell frames from what they call, and before 2.0 there is none."""
    decide = getattr(eval_frame, "set_code_exec_strategy", None)
    if decide is None:
        skip = getattr(eval_frame, "skip_code", lambda code: None)
        return skip, skip
    action, strategy = eval_frame._FrameAction, eval_frame._FrameExecStrategy
    here, deeply = strategy(action.SKIP, action.DEFAULT), strategy(action.SKIP, action.SKIP)
    return (lambda code: decide(code, here)), (lambda code: decide(code, deeply))


def _codes() -> Iterator[CodeType]:
    modules = [module for name, module in sys.modules.items() if name.startswith(_PACKAGE)]
    for module in modules:
        if getattr(module, MAY_COMPILE, False):
            continue
        for function in _functions(module):
            yield from _nested(function.__code__)


def _functions(module: ModuleType) -> Iterator[FunctionType]:
    for value in vars(module).values():
        holder = vars(value).values() if isinstance(value, type) and value.__module__ == module.__name__ else (value,)
        for found in holder:
            function = getattr(found, "fget", getattr(found, "__func__", found))
            if isinstance(function, FunctionType) and function.__module__ == module.__name__:
                yield function


def _nested(code: CodeType) -> Iterator[CodeType]:
    waiting = [code]
    while waiting:
        found = waiting.pop()
        yield found
        waiting.extend(constant for constant in found.co_consts if isinstance(constant, CodeType))
