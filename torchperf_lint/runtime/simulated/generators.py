"""Random numbers of the device: a generator of its own for each, as on a card, so that seeds and states are apart.

Numbers are the host's: after `torch.manual_seed(0)` a tensor drawn on the device equals one drawn on the host first.
"""

from __future__ import annotations

import weakref
from typing import Any

import torch

from torchperf_lint.runtime.simulated.naming import BACKEND, internal

_HostGenerator = torch._C.Generator
_devices: list[Generator] = []
_ours: weakref.WeakValueDictionary[int, Generator] = weakref.WeakValueDictionary()
"""Those of the device by the address inside: kernels are handed another Python object around it."""


class _Kind(type(_HostGenerator)):  # type: ignore[misc]
    """Makes every generator of torch an instance of the class that stands in its place."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _HostGenerator)


class Generator(_HostGenerator, metaclass=_Kind):  # type: ignore[misc, valid-type]
    """`torch.Generator` that can be made for the simulated device; the numbers come from the host's algorithm."""

    _index: int | None = None

    def __new__(cls, device: Any = "cpu") -> Generator:  # noqa: ANN401
        """A generator for `device`."""
        where = internal(device if device is not None else "cpu")
        where = torch.device(where)
        ours = where.type == BACKEND
        made: Generator = super().__new__(cls, "cpu" if ours else where)
        made._index = where.index if ours else None
        if ours:
            _ours[made._cdata] = made
        return made

    @property
    def device(self) -> torch.device:
        """Where its numbers are drawn."""
        return torch.device("cpu") if self._index is None else torch.device("cuda", self._index)

    def __reduce__(self) -> tuple[Any, ...]:
        """As torch's own, for the device that it is said to be on."""
        make, (_host, *rest), *state = super().__reduce__()
        return make, (self.device, *rest), *state

    def clone_state(self) -> Generator:
        """Another generator for the same device that goes on as this one does."""
        made = Generator(self.device)
        made.set_state(self.get_state())
        return made


Generator.__module__ = "torch"


def make_generators(devices: int) -> tuple[Generator, ...]:
    """The default generators of the devices, seeded as torch's own is now."""
    _devices[:] = [Generator(f"cuda:{index}") for index in range(devices)]
    for generator in _devices:
        generator.manual_seed(torch.initial_seed())
    return tuple(_devices)


def device_generator(index: int) -> Generator:
    """The default generator of a device."""
    return _devices[index]


def check_place(generator: Any, kind: str) -> None:  # noqa: ANN401
    """Raise RuntimeError, as ATen does, if this generator does not draw for devices of this kind."""
    found = "cuda" if generator._cdata in _ours else "cpu"
    if found != kind:
        raise RuntimeError(f"Expected a '{kind}' device type for generator but found '{found}'")
