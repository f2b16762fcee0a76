"""Functions that make tensors: they take CUDA devices and pinned memory."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _device

from torchperf_lint.runtime.simulated import memory
from torchperf_lint.runtime.simulated.generators import check_place
from torchperf_lint.runtime.simulated.naming import internal_arguments
from torchperf_lint.runtime.simulated.patching import overridable, translate

_MORE = ("from_file", "randint_like", "empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like")


def patch_factories() -> None:
    """Patch every function that torch itself knows to take a default device, and those like another tensor."""
    makers = _device._device_constructors()
    for owner in (torch, torch.fft, torch.signal.windows):
        for name in dir(owner):
            function = getattr(owner, name)
            if callable(function) and _known(function, makers):
                setattr(owner, name, _factory(function))
    for name in _MORE:
        translate(torch, name)
    _device._device_constructors.cache_clear()
    _device._device_constructors().update(makers)


def _known(function: Any, makers: Any) -> bool:  # noqa: ANN401
    try:
        return function in makers
    except TypeError:
        return False


def _factory(original: Any) -> Any:  # noqa: ANN401
    def act(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        args, kwargs = internal_arguments(args, kwargs)
        pinned = bool(kwargs.get("pin_memory"))
        made = original(*args, **{**kwargs, "pin_memory": False} if pinned else kwargs)
        if kwargs.get("generator") is not None and made.is_cpu:  # a kernel of the host does not know ours for a card's
            check_place(kwargs["generator"], "cpu")
        if not pinned:
            return made
        return memory.pinned_empty(made).copy_(made).requires_grad_(made.requires_grad)

    return overridable(original, act)
