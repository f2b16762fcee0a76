"""Takes the callbacks that nobody asked for out of torch's way: those for memory and events.

Once activated, torch's C++ calls back for each tensor that is freed, too, and imports the callbacks' module each time.
Where an exception is on its way (a temporary dies while an expression fails), that import fails, C++ drops the error,
and with it the script's exception: what arrives is `SystemError: error return without exception set` (torch 2.11 on a
card: a shape mismatch in `torch.mm(x + 1, y)`, out of memory, an exception out of a loop over pinned batches). Nothing
that the callbacks do in Python can help.

So torch gets a copy of its table of functions (`c10::impl::PyInterpreterVTable`) in which these do nothing. Which they
are is found out by trying: entry after entry of the copy is replaced, and what then fails to call back was it. Only
callbacks go through this copy, torch's other uses of the table have their own pointer to it.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

_STATE = "_ZN3c104impl8GPUTrace13gpuTraceStateE"
_ENTRIES = 64
"""More than the table has (some thirty): what lies behind it is copied and never called."""
_POINTER = ctypes.sizeof(ctypes.c_void_p)


class Quiet:
    """A copy of torch's table, and where torch looks for it. Made once the callbacks are activated."""

    def __init__(self, state: ctypes.c_void_p, registries: Mapping[str, Any], exercise: Callable[[], object]) -> None:
        """`registries`: by name, those to silence. `exercise` does on the device what has each of them called."""
        self.state = state
        self.registries = registries
        self.exercise = exercise
        self._real = state.value

    @classmethod
    def of(cls, torch: Any, registries: Mapping[str, Any]) -> Quiet | None:  # noqa: ANN401
        """None where this torch shows no such table."""
        if os.name != "posix" or sys.maxsize < 2**32:
            return None
        try:
            library = ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib", "libc10.so"))
            state = ctypes.c_void_p.in_dll(library, _STATE)
        except (OSError, ValueError):
            return None
        return cls(state, registries, lambda: _on_the_device(torch)) if state.value else None

    def begin(self) -> bool:
        """Silence what can be found, all of it or nothing; tells whether."""
        table, interpreter = _copy_of(self._real)
        self.state.value = ctypes.addressof(interpreter)
        silent = False
        try:
            with suppress(Exception):  # the exercise may be beyond this torch
                silent = self._silence(table)
        finally:
            if not silent:
                self.end()
        return silent

    def end(self) -> None:
        """torch's own table again: somebody else wants to be called."""
        self.state.value = self._real

    def _silence(self, table: ctypes.Array[ctypes.c_void_p]) -> bool:
        nothing = ctypes.cast(ctypes.pythonapi.Py_IsInitialized, ctypes.c_void_p).value
        with self._heard() as heard:
            left = self._called(heard)
            if left != self.registries.keys():
                return False
            for entry, real in enumerate(table):
                table[entry] = nothing
                silenced = left - self._called(heard)
                if len(silenced) > 1:
                    return False
                if not silenced:
                    table[entry] = real
                left -= silenced
                if not left:
                    return True
        return False

    def _called(self, heard: set[str]) -> set[str]:
        heard.clear()
        self.exercise()
        return set(heard)

    @contextmanager
    def _heard(self) -> Iterator[set[str]]:
        """The names of the registries that this thread has called."""
        heard: set[str] = set()
        here = threading.get_ident()

        def hearing(name: str) -> Callable[..., None]:
            def fire_callbacks(*_: object) -> None:
                if threading.get_ident() == here:
                    heard.add(name)

            return fire_callbacks

        before = {name: vars(registry).get("fire_callbacks") for name, registry in self.registries.items()}
        for name, registry in self.registries.items():
            registry.fire_callbacks = hearing(name)
        try:
            yield heard
        finally:
            for name, registry in self.registries.items():
                registry.fire_callbacks = before[name]
                if before[name] is None:
                    del registry.fire_callbacks


def _copy_of(real: int | None) -> tuple[ctypes.Array[ctypes.c_void_p], ctypes.Array[ctypes.c_void_p]]:
    """A copy of the table, and an interpreter that has it: a pointer to an object that begins with the table's."""
    table_at = _pointer_at(_pointer_at(real))
    table = (ctypes.c_void_p * _ENTRIES).from_buffer_copy(ctypes.string_at(table_at or 0, _ENTRIES * _POINTER))
    holder = (ctypes.c_void_p * 1)(ctypes.addressof(table))
    interpreter = (ctypes.c_void_p * 1)(ctypes.addressof(holder))
    for kept in (table, holder, interpreter):
        # C++ calls back until the very end of the process, when module globals are gone.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    return table, interpreter


def _pointer_at(address: int | None) -> int | None:
    return ctypes.c_void_p.from_address(address).value if address else None


def _on_the_device(torch: Any) -> None:  # noqa: ANN401
    """512 bytes and an event, on the current device, past torch's dispatcher: no mode of the script sees them."""
    stream = torch.cuda.current_stream()
    torch._C._cuda_cudaCachingAllocator_raw_delete(
        torch._C._cuda_cudaCachingAllocator_raw_alloc(512, stream.cuda_stream)
    )
    event = torch.cuda.Event()
    event.record(stream)
    stream.wait_event(event)
