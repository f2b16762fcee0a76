"""Moving modules between host and device without losing a parameter's identity, which optimizers hold on to."""

from __future__ import annotations

from typing import Any

import torch

from torchperf_lint.runtime.simulated.memory import as_device, as_host, on_device
from torchperf_lint.runtime.simulated.patching import replace, shadow_property


def patch_moves() -> None:
    """`parameter.data = tensor` may change the device, as it may between the host and a card."""
    data = torch._C.TensorBase.data
    compatible = torch._has_compatible_shallow_copy_type

    def write(self: torch.Tensor, new: torch.Tensor) -> None:
        if isinstance(new, torch.Tensor) and on_device(self) != on_device(new):
            _exchange(self, new)
        else:
            data.__set__(self, new)

    def both(first: torch.Tensor, second: torch.Tensor) -> bool:
        if on_device(first) != on_device(second):
            return bool(first.layout == second.layout == torch.strided)
        same: Any = compatible(first, second)
        return bool(same)

    shadow_property(torch.Tensor, "data", data.__get__, write)
    replace(torch, "_has_compatible_shallow_copy_type", both)


_HOOKS = ("_backward_hooks", "_post_accumulate_grad_hooks")


def _exchange(tensor: torch.Tensor, new: torch.Tensor) -> None:
    """Give the Python object another tensor inside; its hooks and its gradient stay with it.

    The gradient moves along unreported, because the two may not be apart: `Module.to` moves and reports it next.
    """
    inner = new.detach().requires_grad_(tensor.requires_grad)
    gradient = tensor.grad
    hooks: dict[str, Any] = {name: getattr(tensor, name, None) for name in _HOOKS}
    torch._C._swap_tensor_impl(tensor, inner)
    for name, value in hooks.items():
        if value is not None:
            setattr(tensor, name, value)
    if gradient is not None:
        tensor.grad = _beside(gradient.detach(), tensor)


def _beside(gradient: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
    if on_device(tensor):
        return as_device(gradient.clone(), tensor.get_device())
    return as_host(gradient).clone()
