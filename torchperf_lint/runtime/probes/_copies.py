"""What is a copy between devices, and what it is like. Asks tensors; counts through the recorder."""

from __future__ import annotations

import contextlib
import sys
import threading
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

from torchperf_lint.runtime.probes import _waits
from torchperf_lint.runtime.staging import is_straight, keeps_the_host

if TYPE_CHECKING:
    from torchperf_lint.runtime.session import Session

_PARTS = (("_indices", "_values"), ("crow_indices", "col_indices", "values"), ("ccol_indices", "row_indices", "values"))
"""What a sparse tensor is made of, by its layout."""
_TRACED = (
    ("torch._subclasses.fake_tensor", "FakeTensor"),
    ("torch._subclasses.functional_tensor", "FunctionalTensor"),
)
"""Stand-ins for tensors while a compiler traces: nothing moves."""
_PLACES = {"cuda": 1, "copy_": 1}
_ATTRIBUTES = {
    (pinned, blocking): (("pinned", pinned), ("blocking", blocking))
    for pinned in (True, False, None)
    for blocking in (True, False)
}
"""What is told of a copy, made once."""


class Device(Protocol):
    """What is asked of a torch.device."""

    @property
    def type(self) -> str:
        """Such as `cpu`."""


def direction(source: Device, target: Device, accelerator: str) -> str | None:
    """`h2d`, `d2h` or `d2d`; None where nothing goes from one device to another."""
    of, to = source.type, target.type
    if to == accelerator:
        if of == "cpu":
            return "h2d"
        return "d2d" if of == accelerator and source != target else None
    return "d2h" if of == accelerator and to == "cpu" else None


def asks_not_to_block(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], devices: tuple[type, ...] = (str, int)
) -> bool:
    """Whether `non_blocking` is true in a call of a tensor's method; `devices`: types that can name a device."""
    if "non_blocking" in kwargs:
        return bool(kwargs["non_blocking"])
    place = _PLACES.get(name)
    if name == "to":
        # to(device, dtype, non_blocking), but to(dtype, non_blocking) and to(other, non_blocking).
        place = 2 if not args or args[0] is None or isinstance(args[0], devices) else 1
    return place is not None and len(args) > place and bool(args[place])


def size(tensor: Any, strided: object = None) -> int:  # noqa: ANN401
    """Bytes of a tensor's elements; of a sparse one, of its indices and values. `strided`: the layout of most."""
    layout = tensor.layout
    if layout is strided or "sparse" not in str(layout):
        return int(tensor.numel() * tensor.element_size())
    for names in _PARTS:
        with contextlib.suppress(RuntimeError):
            return sum(size(getattr(tensor, name)()) for name in names)
    return 0


class Copies:
    """Counts the copies between the host and one kind of accelerator."""

    def __init__(self, session: Session, torch: Any, accelerator: str) -> None:  # noqa: ANN401
        """`accelerator`: the device type that copies go to and come from."""
        self.session = session
        self.torch = torch
        self.accelerator = accelerator
        self.waits = _waits.of(session)
        self._plain = (torch.Tensor, torch.nn.Parameter)
        self._devices = (str, int, torch.device)
        self._strided = torch.strided
        self._counted = threading.local()
        self._as_plain = torch._C.DisableTorchFunction
        self._modes = getattr(torch._C, "_len_torch_function_stack", lambda: 1)
        self._dispatch_modes = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 1)

    def may_have_moved(self, source: Any, target: Any) -> bool:  # noqa: ANN401
        """False where both are on one device; in doubt True: attributes of subclasses and under modes run user code."""
        return not self._are_plain(source, target) or bool(source.device != target.device)

    def _are_plain(self, source: object, target: object) -> bool:
        """Whether none of the script's own code runs when these are asked."""
        plain = self._plain
        return type(source) in plain and type(target) in plain and not self._modes()

    def may_be_there(self, tensor: Any) -> bool:  # noqa: ANN401
        """False where a tensor is not on the accelerator; in doubt True."""
        return type(tensor) not in self._plain or bool(self._modes()) or tensor.device.type == self.accelerator

    def moved(
        self,
        name: str,
        source: Any,  # noqa: ANN401
        target: Any,  # noqa: ANN401
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        told: int,
        started: float,
    ) -> None:
        """`source.name(*args, **kwargs)` gave `target`; `told`: what `waits.told` was before; `started` in seconds."""
        self._seen(source, target, asks_not_to_block(name, args, kwargs, self._devices), told, started)

    def filled(
        self,
        source: Any,  # noqa: ANN401
        target: Any,  # noqa: ANN401
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        told: int,
        started: float,
    ) -> None:
        """`target.copy_(source, ...)` was called."""
        self._seen(source, target, asks_not_to_block("copy_", args, kwargs), told, started)

    def read(self, source: Any, told: int, started: float) -> None:  # noqa: ANN401
        """`source.tolist()` was called: it copies to the host first."""
        ended = perf_counter()
        with self._as_plain():
            if source.device.type == self.accelerator and size(source):
                self._count("d2h", size(source), False, True, told, (started, ended))

    def _seen(self, source: Any, target: Any, non_blocking: bool, told: int, started: float) -> None:  # noqa: ANN401
        ended = perf_counter()
        if self._are_plain(source, target):
            seen = self._look(source, target, non_blocking)
        else:
            with self._as_plain():
                seen = self._look(source, target, non_blocking) if self._are_real(source, target) else None
        if seen is not None:
            way, nbytes, pinned = seen
            waits = keeps_the_host(asked_to_block=not non_blocking, to_device=way == "h2d", pinned=pinned)
            self._count(way, nbytes, pinned, waits and way != "d2d", told, (started, ended))

    def _look(self, source: Any, target: Any, non_blocking: bool) -> tuple[str, int, bool | None] | None:  # noqa: ANN401
        """(direction, bytes, whether pinned) of a copy; None where nothing was copied."""
        way = direction(source.device, target.device, self.accelerator)
        if way is None:
            return None
        # An empty tensor has nothing to wait for: torch returns before it copies.
        nbytes = size(target, self._strided)
        if not nbytes:
            return None
        return way, nbytes, self._from_pinned(source, target, way, not non_blocking) if way != "d2d" else None

    def _are_real(self, *tensors: object) -> bool:
        traced = [getattr(sys.modules.get(module), name, None) for module, name in _TRACED]
        kinds = tuple(kind for kind in traced if kind is not None)
        return all(isinstance(tensor, self.torch.Tensor) and not isinstance(tensor, kinds) for tensor in tensors)

    def _from_pinned(self, source: Any, target: Any, way: str, blocking: bool) -> bool | None:  # noqa: ANN401
        """Whether the host's side of a copy is pinned memory, with no temporary before it."""
        to_device = way == "h2d"
        pinned = self._is_pinned(source if to_device else target)
        return pinned and is_straight(source, target, to_device=to_device, blocking=blocking, is_dense=self._is_dense)

    def _is_dense(self, tensor: Any) -> bool:  # noqa: ANN401
        return bool(self.torch.ops.aten.is_non_overlapping_and_dense.default(tensor))

    def _is_pinned(self, host: Any) -> bool | None:  # noqa: ANN401
        """None where it cannot be told, or not without the script's noticing."""
        if self._dispatch_modes():
            return None
        try:
            return bool(host.is_pinned())
        except (RuntimeError, NotImplementedError):
            return None

    def _count(
        self, way: str, nbytes: int, pinned: bool | None, blocking: bool, told: int, times: tuple[float, float]
    ) -> None:
        """One copy; `times`: when it began and ended, in seconds. Outermost calls that hold a counted one are none."""
        started, ended = times
        if getattr(self._counted, "at", -1.0) >= started:
            return
        self._counted.at = ended
        ms = (ended - started) * 1000 if blocking else None
        if self.session.mark is not None:
            site = self.session.recorder.site(self.session.sites.key()) or 0
            self.session.mark(f"copy:{site}:{way}:{int((ended - started) * 1e6) + 1}:{nbytes}")
        self.session.recorder.event("copy", way, ms=ms, nbytes=nbytes, attributes=_ATTRIBUTES[pinned, blocking])
        if ms is not None and self.waits.told == told:
            self.waits.waited(ms)
