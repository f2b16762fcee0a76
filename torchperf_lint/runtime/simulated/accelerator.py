"""torch.accelerator speaks of CUDA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torchperf_lint.runtime.simulated.naming import SELECTED
from torchperf_lint.runtime.simulated.reports import REPORTS


def patch_accelerator() -> None:
    """Answer for `torch._C._accelerator_*`, where this torch has them."""
    for name, function in _functions().items():
        if hasattr(torch._C, name):
            setattr(torch._C, name, function)


def _functions() -> dict[str, Callable[..., Any]]:
    cuda: Any = torch.cuda
    return {
        "_accelerator_getAccelerator": lambda: torch.device("cuda"),
        "_get_accelerator": lambda *_: torch.device("cuda"),
        "_accelerator_getDeviceIndex": lambda: SELECTED.index,
        "_accelerator_setDeviceIndex": cuda.set_device,
        "_accelerator_exchangeDevice": cuda._exchange_device,
        "_accelerator_maybeExchangeDevice": cuda._maybe_exchange_device,
        "_accelerator_synchronizeDevice": lambda index: REPORTS.sync("device-synchronize"),
        "_accelerator_getStream": cuda.current_stream,
        "_accelerator_setStream": cuda.set_stream,
        "_accelerator_emptyCache": lambda: None,
        "_accelerator_getDeviceStats": cuda.memory_stats,
        "_accelerator_getMemoryInfo": cuda.mem_get_info,
        "_accelerator_getDeviceCapability": _capability,
    }


def _capability(index: int) -> dict[str, Any]:
    types = {torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int32, torch.bool}
    return {"supported_dtypes": types}
