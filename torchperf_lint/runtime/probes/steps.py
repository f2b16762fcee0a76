"""Steps of optimizers, and backward passes.

`Optimizer.profile_hook_step` puts torch's own wrapper around the `step` of each class, when the first optimizer of it
is made (since torch 2.0): ours goes around that. Where some class had torch's before, the global hooks
`register_optimizer_step_{pre,post}_hook` tell of it. They run within what Dynamo compiles of a step, where it would
trace them, or they would see nothing; so there are none where none is needed.

Which optimizer's step closes a step of the run, so that the two optimizers of a GAN make one, says closing.py. Of a run
without any optimizer, see `_without_optimizer`.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from sys import _getframe
from threading import get_ident
from typing import TYPE_CHECKING, Any

from torchperf_lint.runtime.probes import _over_eval_frame, _zeroing
from torchperf_lint.runtime.probes._without_optimizer import WithoutOptimizer
from torchperf_lint.runtime.sites import PROJECT

if TYPE_CHECKING:
    from types import FrameType

    from torchperf_lint.runtime.session import Session
    from torchperf_lint.runtime.sites import Remembered

NAME = "steps"
_HOOKED = "torch.optim.optimizer"
_WRAPS = "profile_hook_step"
_RETAIN = 2
"""Position of `retain_graph`."""


def install(session: Session, torch: Any) -> str | None:  # noqa: ANN401
    """Mark optimizer steps and backward passes on the timeline."""
    by_hand = WithoutOptimizer(session, torch, NAME)
    _watch_backward(session, torch, by_hand)
    optimizer = import_module(_HOOKED)

    if not hasattr(optimizer.Optimizer, _WRAPS) or any(map(_is_wrapped, _below(optimizer.Optimizer))):
        by_hand.made()  # or might have been
    session.restarts.append(by_hand.restart)
    if not hasattr(optimizer, "register_optimizer_step_post_hook"):
        return f"torch {torch.__version__} has no global optimizer hooks (2.0 or later has)"
    watched, traced = _Optimizers(session), _over_eval_frame.is_tracing(torch)
    _wrap_steps(session, optimizer.Optimizer, watched, traced, by_hand)
    _zeroing.watch(session, torch, optimizer.Optimizer, traced)
    if not hasattr(optimizer.Optimizer, _WRAPS) or any(map(_is_wrapped, _below(optimizer.Optimizer))):
        optimizer.register_optimizer_step_pre_hook(_hook(lambda _: watched.begins(_getframe(1)), traced))
        optimizer.register_optimizer_step_post_hook(_hook(watched.ends, traced))
    session.restarts.append(watched.restart)
    return None


def _wrap_steps(
    session: Session,
    cls: Any,  # noqa: ANN401
    watched: _Optimizers,
    traced: Callable[[], bool],
    by_hand: WithoutOptimizer,
) -> None:
    """Have ours put around the step of each class to come."""
    original = getattr(cls, _WRAPS, None)
    if original is None:
        return

    @functools.wraps(original)
    def profile_hook_step(step: Any) -> Any:  # noqa: ANN401
        by_hand.made()
        session.recorder.state("optimizer_made", value=True)
        return _over_eval_frame.stepping(original(step), traced, watched.begins, watched.ends)

    setattr(cls, _WRAPS, staticmethod(profile_hook_step))


def _below(cls: type[Any]) -> Iterator[type[Any]]:
    for found in cls.__subclasses__():
        yield found
        yield from _below(found)


def _is_wrapped(cls: Any) -> bool:  # noqa: ANN401
    """Whether an optimizer of this class has been made already."""
    return bool(getattr(getattr(cls, "step", None), "hooked", False))


def _hook(tell: Callable[[Any], object], traced: Callable[[], bool]) -> Callable[[Any, Any, Any], None]:
    """For the classes that had torch's wrapper before ours; of the others our own wrapper tells."""

    def hook(optimizer: Any, args: Any, kwargs: Any) -> None:  # noqa: ANN401
        del args, kwargs
        if not traced() and not hasattr(type(optimizer).step, _over_eval_frame.TELLS):
            tell(optimizer)

    return hook


class _Optimizers:
    """Numbers the optimizers, and notes what each of them is when it first steps."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._recorder, self._sites, self._clock = session.recorder, session.sites, session.timeline.clock
        self._timeline = session.timeline
        self._step_begins = session.guarded(NAME, session.timeline.step_begins)
        self._step_ends = session.guarded(NAME, session.timeline.step_ends)
        self.restart()

    def restart(self) -> None:
        """A forked child has seen none."""
        self._recorder.scopes.owned.clear()
        self._known: dict[int, tuple[weakref.ref[Any], int]] = {}
        self._described: list[dict[str, Any]] = []
        self._site: Remembered = (None, 0, None)
        """Where the step that is under way was called; walking the stack again would cost as much."""

    def begins(self, frame: FrameType) -> None:
        """Called in every step, with a frame within it: as little as can be; the rest is put off."""
        try:
            frame = self._sites.outside(frame)
            site = self._site
            if frame.f_code is not site[0] or frame.f_lasti != site[1]:
                site = self._site = self._sites.remembered(frame)
            arguments = (site[2], self._clock(), get_ident())
            recorder = self._recorder
            if recorder.deferring:
                recorder.put_off((self._step_begins, arguments))
            else:
                self._step_begins(*arguments)
        except Exception as error:
            if not self.session.is_blamed(NAME, error):
                raise

    def ends(self, optimizer: Any) -> None:  # noqa: ANN401
        """Called in every step."""
        try:
            known = self._known.get(id(optimizer))
            number = known[1] if known is not None and known[0]() is optimizer else self._number(optimizer)
            now = self._clock()
            arguments = (self._site[2], number, now, get_ident())
            recorder = self._recorder
            if recorder.deferring:
                recorder.put_off((self._step_ends, arguments))
            else:
                self._step_ends(*arguments)
            self._timeline.stepped_on = arguments[3]
            recorder.tick()
        except Exception as error:
            if not self.session.is_blamed(NAME, error):
                raise

    def _number(self, optimizer: Any) -> int:  # noqa: ANN401
        number = len(self._described) + 1
        recorder = self._recorder
        self._known[id(optimizer)] = (
            weakref.ref(optimizer, lambda _: recorder.later(self._gone, number)),
            number,
        )
        recorder.scopes.owned[number] = _zeroing.of_optimizer(optimizer)
        self._described.append(_description(optimizer) | {"step": self._step_of(type(optimizer))})
        self.session.trained |= recorder.scopes.owned[number]
        recorder.state("optimizers", list(self._described))
        return number

    def _gone(self, number: int) -> None:
        self.session.timeline.closing.gone(number)
        self._recorder.scopes.owned.pop(number, None)

    def _step_of(self, cls: Any) -> dict[str, Any] | None:  # noqa: ANN401
        """Where the project defines how this class steps; None where a package does."""
        step: Any = getattr(cls, "step", None)
        while hasattr(step, "__wrapped__"):
            step = step.__wrapped__
        code = getattr(step, "__code__", None)
        if code is None or self._sites.kind_of(code.co_filename) != PROJECT:
            return None
        last = max((line for _, _, line in code.co_lines() if line is not None), default=code.co_firstlineno)
        return {"path": self._sites.shown(code.co_filename), "line": code.co_firstlineno, "last": last}


def _description(optimizer: Any) -> dict[str, Any]:  # noqa: ANN401
    """Class, where its parameters live and how many there are, and the switches that matter for speed."""
    groups = optimizer.param_groups
    parameters = [p for group in groups for p in group["params"]]
    first = groups[0] if groups else {}
    return {
        "class": type(optimizer).__name__,
        "module": type(optimizer).__module__,
        "devices": sorted({p.device.type for p in parameters}),
        "dtypes": sorted({str(p.dtype) for p in parameters}),
        "tensors": len(parameters),
        "parameters": sum(p.numel() for p in parameters),
        "switches": {name: first[name] for name in ("foreach", "fused", "capturable") if name in first},
    }


def _keeps_graph(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether `torch.autograd.backward(tensors, grad_tensors, retain_graph, ...)` was told to; None follows another."""
    return (args[_RETAIN] if len(args) > _RETAIN else kwargs.get("retain_graph")) is True


def _tell(callbacks: Iterable[Callable[[Any], object]], what: Any) -> None:  # noqa: ANN401
    """Whoever has seen enough leaves the list meanwhile."""
    for callback in tuple(callbacks):
        callback(what)


def _watch_backward(session: Session, torch: Any, by_hand: WithoutOptimizer) -> None:  # noqa: ANN401
    """`Tensor.backward` looks `torch.autograd.backward` up at each call."""
    original = torch.autograd.backward
    recorder, sites, clock = session.recorder, session.sites, session.timeline.clock
    begins = session.guarded(NAME, by_hand.backward_begins)
    ends = session.guarded(NAME, by_hand.backward_ends)
    stepped = session.guarded(NAME, by_hand.stepped)
    put_off, looks, calls = recorder.put_off, session.on_backward, session.on_call
    of_tensor = torch.Tensor.backward.__code__
    site: Remembered = (None, 0, None)

    @functools.wraps(original)
    def backward(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        nonlocal site
        key = None
        try:
            frame = _getframe(1)
            if frame.f_code is of_tensor:
                frame = frame.f_back or frame
            known = site
            if frame.f_code is not known[0] or frame.f_lasti != known[1]:
                site = known = sites.remembered(frame)
            key = known[2]
            del frame
            if calls:
                _tell(calls, key)
            if recorder.deferring:
                put_off((begins, (key, clock(), get_ident())))
            else:
                begins(key, clock(), get_ident())
            if _keeps_graph(args, kwargs):
                recorder.event("kept-graph", "backward", key=key)
            if looks:
                _tell(looks, args[0] if args else kwargs.get("tensors"))
        except Exception as error:
            if not session.is_blamed(NAME, error):
                raise
        try:
            return original(*args, **kwargs)
        finally:
            if recorder.deferring:
                put_off((ends, (key, clock(), get_ident())))
            else:
                ends(key, clock(), get_ident())
            stepped()

    torch.autograd.backward = backward
