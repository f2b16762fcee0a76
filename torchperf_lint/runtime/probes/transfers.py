"""Copies between host and device that the script asks for: direction, bytes, pinned or pageable, blocking or not.

`Tensor.to`, `.cuda`, `.cpu`, `.copy_` and `.tolist` are replaced on the class, by functions that call the original
and look at the devices afterwards; Dynamo, TorchScript and FX know these methods by name and do not notice. What
moves data without them is not counted here, though `host_sync` sees its wait: `torch.tensor(list, device=...)`
(replacing it breaks `torch.jit.script` and function modes, which know it by identity), assignment across devices,
copies inside compiled graphs, and what autograd moves back.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any

from torchperf_lint.runtime.probes import _cuda
from torchperf_lint.runtime.probes._copies import Copies

if TYPE_CHECKING:
    from torchperf_lint.runtime.session import Session

NAME = "transfers"
_MOVES = ("to", "cuda", "cpu")


def install(session: Session, torch: Any) -> str | None:  # noqa: ANN401
    """Watch the methods that copy; the simulated device reports its own copies."""
    if session.simulated:
        return None
    if not _cuda.is_built(torch):
        return _cuda.NO_CUDA
    # A script's first copy may be what opens the device, so the methods are replaced before.
    watch(session, torch, "cuda")
    return _cuda.watch_once_opened(session, torch, NAME, lambda: None)


def watch(session: Session, torch: Any, accelerator: str) -> None:  # noqa: ANN401
    """Replace the methods, to count copies to and from devices of the type `accelerator`."""
    copies = Copies(session, torch, accelerator)
    tensor = torch.Tensor
    for name in _MOVES:
        setattr(tensor, name, _moving(getattr(tensor, name), copies, session.guarded(NAME, copies.moved)))
    tensor.copy_ = _filling(tensor.copy_, copies, session.guarded(NAME, copies.filled))
    tensor.tolist = _reading(tensor.tolist, copies, session.guarded(NAME, copies.read))


def _moving(original: Callable[..., Any], copies: Copies, moved: Callable[..., object]) -> Callable[..., Any]:
    """`to`, `cuda` and `cpu`: the tensor itself where it is there already."""
    name, may_have_moved, waits = original.__name__, copies.may_have_moved, copies.waits

    @functools.wraps(original)
    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        told, started = waits.told, perf_counter()
        result = original(self, *args, **kwargs)
        if result is not self and may_have_moved(self, result):
            moved(name, self, result, args, kwargs, told, started)
        return result

    return method


def _filling(original: Callable[..., Any], copies: Copies, filled: Callable[..., object]) -> Callable[..., Any]:
    may_have_moved, waits = copies.may_have_moved, copies.waits

    @functools.wraps(original)
    def copy_(self: Any, /, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        told, started = waits.told, perf_counter()
        result = original(self, *args, **kwargs)
        source = args[0] if args else next(iter(kwargs.values()), None)
        if may_have_moved(source, self):
            filled(source, self, args, kwargs, told, started)
        return result

    return copy_


def _reading(original: Callable[..., Any], copies: Copies, read: Callable[..., object]) -> Callable[..., Any]:
    may_be_there, waits = copies.may_be_there, copies.waits

    @functools.wraps(original)
    def tolist(self: Any, /) -> Any:  # noqa: ANN401
        told, started = waits.told, perf_counter()
        result = original(self)
        if may_be_there(self):
            read(self, told, started)
        return result

    return tolist
