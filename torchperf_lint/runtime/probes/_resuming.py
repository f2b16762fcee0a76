"""Tells when the interpreter goes on after a C call, from a callback that was made within the call.

A binding of torch that waits for the device first calls back, then waits, then returns. `Py_AddPendingCall` asks the
interpreter to call a function as soon as the main thread executes Python code again. Asked too early, from within
the callback, that would be the callback's own code; so the asking is done by an object that dies with the callback's
last frame, in C. Only the main thread can be timed in this way, and only CPython. It prints nothing, sets no mode of
torch, and costs under 2 us; the time between the return and the next check of the interpreter (at the next call,
function start or turn of a loop) is in the measurement.
"""

from __future__ import annotations

import ctypes
import functools
import platform
import threading
from collections.abc import Callable

_SET_ASYNC = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_ulong, ctypes.py_object)
_PENDING = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_ADD = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


def on_resume(resumed: Callable[[], object]) -> type | None:
    """A class whose every instance, when it dies, has `resumed` called once the main thread runs Python code again.

    `resumed` must not raise. None where the interpreter offers no such thing.
    """
    if platform.python_implementation() != "CPython" or not hasattr(ctypes.pythonapi, "Py_AddPendingCall"):
        return None

    def call(_: object) -> int:
        resumed()
        return 0

    pending = _PENDING(call)
    # The interpreter may still hold the address when module globals are gone: this one lives for ever.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(pending))
    ask = functools.partial(_ADD(("Py_AddPendingCall", ctypes.pythonapi)), ctypes.cast(pending, ctypes.c_void_p), None)
    return type("Asking", (), {"__slots__": (), "__del__": staticmethod(ask)})


def raising_on_resume(error: BaseException) -> object | None:
    """An object that, when it dies, has `error` raised on this thread once it runs Python code again.

    A signal may come while a callback of ours runs, and its handler raise: Ctrl-C, an alarm. C++ would swallow that.
    """
    if platform.python_implementation() != "CPython":
        return None
    raise_ = functools.partial(
        _SET_ASYNC(("PyThreadState_SetAsyncExc", ctypes.pythonapi)),
        threading.get_ident(),
        ctypes.py_object(_like(error)),
    )
    kept: object = type("Raising", (), {"__slots__": (), "__del__": staticmethod(raise_)})()
    return kept


def _like(error: BaseException) -> type[BaseException]:
    """The interpreter makes the exception anew, without arguments: a class that knows those of `error`."""
    kind = type(error)
    if not error.args:
        return kind
    initialise = functools.partialmethod(kind.__init__, *error.args)
    return type(kind.__name__, (kind,), {"__init__": initialise, "__module__": kind.__module__})
