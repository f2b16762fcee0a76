"""`nn.DataParallel`: where it is constructed, and its forward passes, counted at the place of construction."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torchperf_lint.runtime.probes import _dynamo

if TYPE_CHECKING:
    from torchperf_lint.runtime.session import Session
    from torchperf_lint.runtime.sites import Key

NAME = "data-parallel"
DYNAMO_MAY_COMPILE = True
"""A graph may begin at the forward pass; the original within is inlined."""


def install(session: Session, torch: Any) -> str | None:  # noqa: ANN401
    """Watch the class's constructor and forward pass."""
    watch = _Watch(session)
    cls = torch.nn.DataParallel
    cls.__init__ = _after(cls.__init__, session.guarded(NAME, watch.made))
    cls.forward = _after(cls.forward, session.guarded(NAME, watch.ran), _dynamo.compiling(torch))
    return None


class _Watch:
    def __init__(self, session: Session) -> None:
        self.session = session
        self._keys: weakref.WeakKeyDictionary[Any, Key | None] = weakref.WeakKeyDictionary()
        """Module -> where it was constructed; not on the module, which is pickled and copied."""

    def made(self, module: Any) -> None:  # noqa: ANN401
        key = self._keys[module] = self.session.sites.key()
        self._event("made", module, key)

    def ran(self, module: Any) -> None:  # noqa: ANN401
        self._event("forward", module, self._keys.get(module))

    def _event(self, what: str, module: Any, key: Key | None) -> None:  # noqa: ANN401
        """`devices`: how many it may use; 0 where there was none when it was made."""
        attributes = (("devices", len(module.device_ids)),)
        self.session.recorder.event("data-parallel", what, attributes=attributes, key=key)


def _after(
    original: Callable[..., Any], note: Callable[..., object], compiling: Callable[[], bool] = lambda: False
) -> Callable[..., Any]:
    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        result = original(self, *args, **kwargs)
        if not compiling():
            note(self)
        return result

    return method
