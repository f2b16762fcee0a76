"""NCCL with one rank: collectives of a group of one give back what they were given, so scripts that know nothing but
DistributedDataParallel run. More ranks are refused: `init_process_group("nccl")` under a launcher of several.

As over NCCL, only `barrier` keeps the host; objects go through the device on their way (torch's own Python does that).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import torch

from torchperf_lint.runtime.simulated.naming import BACKEND
from torchperf_lint.runtime.simulated.patching import replace
from torchperf_lint.runtime.simulated.reports import REPORTS

_MANY = "torch.distributed over NCCL is simulated for one rank only; gloo works for tensors of the host"
_UNREDUCED = "DistributedDataParallel that looks for unused parameters, or whose graph is static, reduces no gradients"
_NAME = "simulated_nccl"
_NCCL = "nccl"
_BOTH = "cpu:gloo,cuda:nccl"
"""What torch makes of no backend at all."""


def patch_groups() -> None:
    """Let torch.distributed make groups of one rank where NCCL is asked for."""
    groups: Any = torch.distributed
    if not groups.is_available():
        return
    home = groups.distributed_c10d
    groups.Backend.register_backend(_NAME, _made, devices=["cpu", "cuda", BACKEND])
    for name, act in (("init_process_group", _starting), ("new_group", _beside), ("get_backend", _named)):
        setattr(home, name, replace(groups, name, act(getattr(home, name))))
    model: Any = torch.nn.parallel.DistributedDataParallel
    replace(model, "__init__", _wrapping(model.__init__))


def _starting(original: Callable[..., None]) -> Callable[..., None]:
    def init_process_group(backend: Any = None, init_method: Any = None, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        if not _is_nccl(backend):
            original(backend, init_method, *args, **kwargs)
            return
        size = kwargs.get("world_size", args[1] if len(args) > 1 else -1)
        if _world(size, init_method) != 1:
            REPORTS.unsupported(_MANY)
            raise RuntimeError(_MANY)
        _ASKED[:] = [_BOTH if backend is None else str(backend)]
        # Binding a device starts communicators at once, of which there are none.
        original(_NAME, init_method, *args, **{name: kwargs[name] for name in kwargs if name != "device_id"})

    return init_process_group


def _is_nccl(backend: Any) -> bool:  # noqa: ANN401
    """Without a name torch takes NCCL for a machine with a card."""
    return _NCCL in str(backend).lower() or backend is None


def _world(size: int, init_method: str | None) -> int:
    """How many ranks the group has, as torch itself finds out: by the call, its URL, or the launcher's variable."""
    told = re.search(r"[?&]world_size=(\d+)", init_method or "")
    if size > 0 or told is not None:
        return size if size > 0 else int(told[1]) if told is not None else -1
    known = os.environ.get("WORLD_SIZE", "")
    return int(known) if known.isdigit() else -1


_ASKED: list[str] = []
"""How the script called the backend of its first group."""


def _beside(original: Callable[..., Any]) -> Callable[..., Any]:
    def new_group(ranks: Any = None, timeout: Any = None, backend: Any = None, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        return original(ranks, timeout, _NAME if _NCCL in str(backend).lower() else backend, *args, **kwargs)

    return new_group


def _named(original: Callable[..., str]) -> Callable[..., str]:
    def get_backend(group: Any = None) -> str:  # noqa: ANN401
        name = original(group)
        return _NCCL if name == _NAME else name

    return get_backend


def _wrapping(original: Callable[..., None]) -> Callable[..., None]:
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401, N807
        is_static = kwargs.pop("static_graph", False)
        original(self, *args, **kwargs)
        if self.device_type == "cuda" and (self.find_unused_parameters or is_static):
            # Its reducer asks the backend for pinned memory, which one written in Python has none of. Gradients of a
            # single rank are right as they are, which is what stands after `no_sync()`, too.
            self.require_backward_grad_sync = False
            REPORTS.unsupported(_UNREDUCED)

    return __init__


def _made(store: Any, rank: int, size: int, timeout: Any) -> Any:  # noqa: ANN401
    from torchperf_lint.runtime.simulated.one_rank import OneRank

    devices = [torch.device(part.partition(":")[0]) for part in _ASKED[0].split(",") if ":" in part]
    return OneRank(rank, size, devices or [torch.device("cuda")])
