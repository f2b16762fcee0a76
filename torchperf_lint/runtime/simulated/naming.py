"""One device, two names: `cuda` for Python code, torch's spare backend for its C++ half."""

from __future__ import annotations

import re
import threading
from typing import Any

import torch

BACKEND = "simulated_cuda"
"""What the spare backend (PrivateUse1) is called; seen only in C++ error messages."""

_IN_ERRORS = (
    (re.compile(r"SparsePrivateUse1([A-Z]\w*)Type"), r"torch.cuda.sparse.\1Tensor"),
    (re.compile(BACKEND + r"([A-Z]\w*)Type"), r"torch.cuda.\1Tensor"),
    (re.compile(BACKEND), "cuda"),
)
"""What C++ calls the types of its tensors and its device, and what it says of CUDA's."""


class Selected(threading.local):
    """The device that this thread selected (`torch.cuda.set_device`), as an index."""

    index = 0


class Fork:
    """Whether this process was forked from one that had the device; CUDA does not survive that."""

    bad = False


class Default:
    """Where tensors are made that are given no device: a default type holds in all threads, autograd's among them."""

    device: str | None = None


DEFAULT = Default()
FORK = Fork()
SELECTED = Selected()
DEVICES = 1
"""One: the engine of autograd keeps a queue for each device, and a backend written in Python has one."""


def internal(device: Any) -> Any:  # noqa: ANN401
    """The C++ name of a CUDA device given as torch.device or string; anything else unchanged."""
    if isinstance(device, str):
        if not device.startswith("cuda"):
            return device
        device = torch.device(device)
    if not isinstance(device, torch.device) or device.type != "cuda":
        return device
    if FORK.bad:
        raise RuntimeError(
            "Cannot re-initialize CUDA in forked subprocess. "
            "To use CUDA with multiprocessing, you must use the 'spawn' start method"
        )
    index = SELECTED.index if device.index is None else device.index
    if index >= DEVICES:
        raise RuntimeError(f"CUDA error: invalid device ordinal (simulated device {index} of {DEVICES})")
    return torch.device(BACKEND, index)


def shown(device: torch.device) -> torch.device:
    """The name under which Python code knows a device."""
    return torch.device("cuda", device.index) if device.type == BACKEND else device


def apart(first: str, second: str) -> str:
    """What torch says of tensors that are on two devices."""
    return (
        "Expected all tensors to be on the same device, but found at least two devices, "
        f"{first} and {second}! (simulated CUDA device)"
    )


def as_cuda(error: Exception) -> Exception:
    """The same error with the device called as Python code knows it."""
    told = str(error)
    for ours, theirs in _IN_ERRORS:
        told = ours.sub(theirs, told)
    return type(error)(told)


def internal_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments of a call with every CUDA device in them given its C++ name."""
    if any(isinstance(value, str | torch.device) for value in args):
        args = tuple(internal(value) for value in args)
    if kwargs.get("device") is not None:
        kwargs = {**kwargs, "device": internal(kwargs["device"])}
    return args, kwargs
