"""Compilers and graphs: torch.compile runs eagerly, CUDA graphs are refused, and both are said."""

from __future__ import annotations

from typing import Any

import torch

from torchperf_lint.runtime.simulated.patching import replace
from torchperf_lint.runtime.simulated.reports import REPORTS

_EAGER = "torch.compile runs eagerly under simulation"


def patch_compilers() -> None:
    """Keep Dynamo out of the way of patched functions."""
    replace(torch, "compile", _compile)
    replace(torch.nn.Module, "compile", _compile_module)
    cuda: Any = torch.cuda
    for name in ("CUDAGraph", "graph", "make_graphed_callables"):
        if hasattr(cuda, name):
            setattr(cuda, name, _Refused(name))


def _compile(model: Any = None, **options: Any) -> Any:  # noqa: ANN401
    REPORTS.unsupported(_EAGER)
    if model is None:
        return lambda function: function
    return model


def _compile_module(self: torch.nn.Module, *args: Any, **options: Any) -> None:  # noqa: ANN401
    REPORTS.unsupported(_EAGER)


class _Refused:
    """Says that CUDA graphs cannot be simulated when one is asked for."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(self, *_: Any, **__: Any) -> Any:  # noqa: ANN401
        what = f"torch.cuda.{self.__name__}: CUDA graphs are not simulated"
        REPORTS.unsupported(what)
        raise RuntimeError(what)
