"""Putting functions of ours in the place of torch's, so that nobody can tell."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.jit import _builtins
from torch.overrides import handle_torch_function, has_torch_function

from torchperf_lint.runtime.simulated.naming import internal_arguments

Function = Callable[..., Any]


def replace(owner: Any, name: str, function: Function) -> Function:  # noqa: ANN401
    """Put `function` at `owner.name`, looking like what stood there."""
    original = getattr(owner, name, None)
    if original is not None:
        function = functools.wraps(original)(function)
    setattr(owner, name, function)
    return function


def overridable(original: Function, act: Function) -> Function:
    """`act`, after tensor subclasses and torch's function modes had their say, as for every function of torch.

    TorchScript, which knows torch's functions by identity, is told of the new one.
    """

    def function(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        if has_torch_function(args) or (kwargs and has_torch_function(tuple(kwargs.values()))):
            return handle_torch_function(function, (*args, *kwargs.values()), *args, **kwargs)
        return act(*args, **kwargs)

    functools.update_wrapper(function, original)
    operator = _builtins._find_builtin(original)
    if operator is not None:
        _builtins._register_builtin(function, operator)
    return function


def translate(owner: Any, name: str) -> None:  # noqa: ANN401
    """Let a function of torch understand the CUDA devices among its arguments."""
    original = getattr(owner, name, None)
    if original is None:
        return

    def act(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        args, kwargs = internal_arguments(args, kwargs)
        return original(*args, **kwargs)

    setattr(owner, name, overridable(original, act))


def shadow_property(owner: type, name: str, read: Callable[[Any], Any], write: Function | None = None) -> None:
    """A property in the place of one of torch's C ones."""
    original = getattr(owner, name)
    setattr(owner, name, property(read, write or getattr(original, "__set__", None), None, original.__doc__))


def is_plain(tensor: torch.Tensor) -> bool:
    """No torch function stands between the caller and this tensor."""
    return not has_torch_function((tensor,))
