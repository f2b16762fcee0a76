"""Brings the simulated device up: the spare backend first, then the face it shows."""

from __future__ import annotations

from typing import Any

import torch

from torchperf_lint.runtime.simulated import Sink, UnavailableError, accelerator, naming
from torchperf_lint.runtime.simulated.reports import REPORTS

_installed: list[int] = []


def set_up(sink: Sink, devices: int) -> None:
    """See `torchperf_lint.runtime.simulated.install`."""
    if _installed:
        raise UnavailableError("the simulated CUDA device is installed already")
    if devices != naming.DEVICES:
        raise UnavailableError(f"{devices} simulated CUDA devices were asked for; there can be one")
    _check()
    _installed.append(devices)
    _register_backend()
    _patch(devices)
    REPORTS.connect(sink)


def _check() -> None:
    hooks = getattr(torch._C, "_acc", None)
    if not hasattr(hooks, "register_python_privateuseone_device_guard"):
        raise UnavailableError(
            f"torch {torch.__version__} cannot host a backend written in Python: "
            "it lacks torch._C._acc.register_python_privateuseone_device_guard"
        )
    if torch._C._get_privateuse1_backend_name() != "privateuseone":
        raise UnavailableError("torch's spare backend (PrivateUse1) is taken by another extension")


class _Module:
    """What torch wants to know of a backend."""

    def is_initialized(self) -> bool:
        return True

    def is_available(self) -> bool:
        return True

    def current_device(self) -> int:
        return naming.SELECTED.index

    def device_count(self) -> int:
        return _installed[0]

    def _is_in_bad_fork(self) -> bool:
        return False

    def manual_seed_all(self, seed: int) -> None:
        """Seeds reach the device through torch.cuda."""

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.float16, torch.bfloat16]


def _register_backend() -> None:
    from torch.utils import backend_registration as registration

    torch.utils.rename_privateuse1_backend(naming.BACKEND)
    module: Any = _Module()
    torch._register_device_module(naming.BACKEND, module)
    hooks: Any = torch._C._acc
    hooks.register_python_privateuseone_hook(registration._DummyPrivateUse1Hook())
    hooks.register_python_privateuseone_device_guard(registration._DummyDeviceGuard())


def _patch(devices: int) -> None:
    from torchperf_lint.runtime.simulated import (
        autocast,
        compiling,
        driver,
        factories,
        generators,
        groups,
        kernels,
        legacy,
        modules,
        storages,
        tensors,
    )

    kernels.register_kernels()
    autocast.patch_autocast(kernels.library("_"), kernels.library("aten"), kernels.overload)
    driver.load_driver(devices)
    accelerator.patch_accelerator()
    tensors.patch_tensors()
    storages.patch_storages()
    modules.patch_moves()
    factories.patch_factories()
    legacy.patch_legacy()
    compiling.patch_compilers()
    groups.patch_groups()
    torch.Generator = generators.Generator
    _patch_versions()


def _patch_versions() -> None:
    """What a script may ask before it trusts a card. cuDNN is there, and never chosen: the host's kernels run."""
    backends: Any = torch.backends
    backends.cuda.is_built = lambda: True
    backends.cudnn.is_available = lambda: True
    backends.cudnn.is_acceptable = lambda tensor: False
    torch.version.cuda = "12.8"
