"""What is not simulated, and said: torch.compile runs eagerly, CUDA graphs are refused."""

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
    cuda.graphs.is_current_stream_capturing = replace(cuda, "is_current_stream_capturing", lambda: False)
    for name in ("CUDAGraph", "graph", "make_graphed_callables"):
        if hasattr(cuda, name):
            setattr(cuda, name, _refused(name))


def _compile(model: Any = None, **options: Any) -> Any:  # noqa: ANN401
    REPORTS.unsupported(_EAGER)
    if model is None:
        return lambda function: function
    return model


def _compile_module(self: torch.nn.Module, *args: Any, **options: Any) -> None:  # noqa: ANN401
    REPORTS.unsupported(_EAGER)


def _refused(name: str) -> type:
    """A class, as the name is in torch.cuda, that says so when somebody makes one."""

    def refuse(cls: type, *_: Any, **__: Any) -> Any:  # noqa: ANN401
        what = f"torch.cuda.{name}: CUDA graphs are not simulated"
        REPORTS.unsupported(what)
        raise RuntimeError(what)

    return type(name, (), {"__new__": refuse, "__module__": "torch.cuda"})
