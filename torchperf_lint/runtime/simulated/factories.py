"""Functions that make tensors, which take CUDA devices and pinned memory, and those that draw numbers."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _device
from torch.utils.data import dataset

from torchperf_lint.runtime.simulated import memory
from torchperf_lint.runtime.simulated.generators import check_place
from torchperf_lint.runtime.simulated.naming import DEFAULT, internal_arguments
from torchperf_lint.runtime.simulated.patching import overridable, translate

_MORE = ("from_file", "randint_like", "empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like")
_DRAWS = ("bernoulli", "binomial", "multinomial", "normal", "poisson", "rand_like", "randn_like", "randint_like")
_FILLS = ("bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_", "normal_", "random_", "uniform_")


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
    for owner, names in ((torch, _DRAWS), (torch.Tensor, ("bernoulli", "multinomial"))):
        for name in names:
            setattr(owner, name, _drawing(getattr(owner, name)))
    dataset.randperm = torch.randperm  # what `random_split` draws with has been imported by name
    for name in _FILLS:
        setattr(torch.Tensor, name, _filling(getattr(torch.Tensor, name)))
    _device._device_constructors.cache_clear()
    _device._device_constructors().update(makers)


def _known(function: Any, makers: Any) -> bool:  # noqa: ANN401
    try:
        return function in makers
    except TypeError:
        return False


def _factory(original: Any) -> Any:  # noqa: ANN401
    def act(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        if DEFAULT.device is not None and kwargs.get("device") is None:
            kwargs = {**kwargs, "device": DEFAULT.device}
        args, kwargs = internal_arguments(args, kwargs)
        pinned = bool(kwargs.get("pin_memory"))
        made = original(*args, **{**kwargs, "pin_memory": False} if pinned else kwargs)
        _check_drawn(made, kwargs)
        if not pinned:
            return made
        return memory.pinned_empty(made).copy_(made).requires_grad_(made.requires_grad)

    return overridable(original, act)


def _check_drawn(tensor: torch.Tensor, kwargs: dict[str, Any]) -> None:
    """A kernel of the host does not know our generators for a card's. Raises RuntimeError where a card's would."""
    if kwargs.get("generator") is not None and tensor.is_cpu:
        check_place(kwargs["generator"], "cpu")


def _drawing(original: Any) -> Any:  # noqa: ANN401
    def act(*args: Any, **kwargs: Any) -> torch.Tensor:  # noqa: ANN401
        drawn: torch.Tensor = original(*args, **kwargs)
        _check_drawn(drawn, kwargs)
        return drawn

    return overridable(original, act)


def _filling(original: Any) -> Any:  # noqa: ANN401
    def act(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:  # noqa: ANN401
        _check_drawn(self, kwargs)
        filled: torch.Tensor = original(self, *args, **kwargs)
        return filled

    return overridable(original, act)
