"""Where gradients are thrown away: `zero_grad()` of optimizers and modules, with the parameters it is about."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable
from threading import get_ident
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchperf_lint.runtime.gradients import Parameters
    from torchperf_lint.runtime.session import Session

NAME = "steps"


def watch(session: Session, torch: Any, optimizer_class: Any, traced: Callable[[], bool]) -> None:  # noqa: ANN401
    """Tell the timeline of both."""
    optimizers, modules = _Zeroing(session, of_optimizer), _Zeroing(session, _of_module)
    optimizer_class.zero_grad = _telling(optimizer_class.zero_grad, optimizers.at, traced)
    torch.nn.Module.zero_grad = _telling(torch.nn.Module.zero_grad, modules.at, traced)


def of_optimizer(optimizer: Any) -> Parameters:  # noqa: ANN401
    """By address, what it steps on."""
    return frozenset(id(p) for group in optimizer.param_groups for p in group["params"])


def _of_module(module: Any) -> Parameters:  # noqa: ANN401
    parameters: Iterable[Any] = module.parameters()
    return frozenset(map(id, parameters))


def _telling(original: Any, tell: Callable[[Any], None], traced: Callable[[], bool]) -> Any:  # noqa: ANN401
    @functools.wraps(original)
    def zero_grad(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        if not traced():
            tell(self)
        return original(self, *args, **kwargs)

    return zero_grad


class _Zeroing:
    """Keeps what each object's parameters are: to ask a large model at each step takes its time."""

    def __init__(self, session: Session, parameters_of: Callable[[Any], Parameters]) -> None:
        self._session, self._recorder = session, session.recorder
        self._parameters_of = parameters_of
        self._throws_away = session.guarded(NAME, self._tells)
        self._known: dict[int, tuple[weakref.ref[Any], Parameters]] = {}

    def at(self, owner: Any) -> None:  # noqa: ANN401
        """Called for each `zero_grad()`."""
        try:
            known = self._known.get(id(owner))
            if known is None or known[0]() is not owner:
                reference = weakref.ref(owner, functools.partial(self._is_gone, id(owner)))
                known = self._known[id(owner)] = (reference, self._parameters_of(owner))
            recorder, arguments = self._recorder, (known[1], get_ident())
            if recorder.deferring:
                recorder.put_off((self._throws_away, arguments))
            else:
                self._throws_away(*arguments)
        except Exception as error:
            if not self._session.is_blamed(NAME, error):
                raise

    def _tells(self, parameters: Parameters, thread: int) -> None:
        if self._session.timeline.is_training(thread) and not self._recorder.muted:
            self._recorder.scopes.throws_away(parameters)

    def _is_gone(self, address: int, reference: weakref.ref[Any]) -> None:
        known = self._known.get(address)
        if known is not None and known[0] is reference:
            del self._known[address]
