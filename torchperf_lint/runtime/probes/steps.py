"""Steps, by the optimizers' own hooks, and backward passes.

`register_optimizer_step_{pre,post}_hook` are global: they see every optimizer of every kind (since torch 2.0). The
optimizer seen first closes a step of the run, so that the two optimizers of a GAN make one step; where it is replaced
(the next fold, the next stage), its successor does.
"""

from __future__ import annotations

import functools
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchperf_lint.runtime.session import Session
    from torchperf_lint.runtime.sites import Key

NAME = "steps"


def install(session: Session, torch: Any) -> str | None:  # noqa: ANN401
    """Mark optimizer steps and backward passes on the timeline."""
    _watch_backward(session, torch)
    from torch.optim import optimizer

    if not hasattr(optimizer, "register_optimizer_step_post_hook"):
        return f"torch {torch.__version__} has no global optimizer hooks (2.0 or later has)"
    watched = _Optimizers(session)
    optimizer.register_optimizer_step_pre_hook(session.guarded(NAME, watched.begins))
    optimizer.register_optimizer_step_post_hook(session.guarded(NAME, watched.ends))
    session.restarts.append(watched.restart)
    return None


class _Optimizers:
    """Numbers the optimizers, and notes what each of them is when it first steps."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._step_begins = session.guarded(NAME, session.timeline.step_begins)
        self._step_ends = session.guarded(NAME, session.timeline.step_ends)
        self.restart()

    def restart(self) -> None:
        """A forked child has seen none."""
        self._numbers: dict[int, int] = {}
        self._alive: dict[int, weakref.ref[Any]] = {}
        self._described: list[dict[str, Any]] = []
        self._key: Key | None = None
        """Where the step that is under way was called; walking the stack again would cost as much."""

    def begins(self, optimizer: Any, args: Any, kwargs: Any) -> None:  # noqa: ANN401
        del args, kwargs
        self._key = self.session.sites.key()
        self.session.recorder.later(self._step_begins, self._key, self.session.timeline.now())

    def ends(self, optimizer: Any, args: Any, kwargs: Any) -> None:  # noqa: ANN401
        del args, kwargs
        recorder = self.session.recorder
        recorder.later(self._step_ends, self._key, self._number(optimizer), self.session.timeline.now())
        recorder.tick()

    def _number(self, optimizer: Any) -> int:  # noqa: ANN401
        known = self._alive.get(id(optimizer))
        if known is not None and known() is optimizer:
            return self._numbers[id(optimizer)]
        number = self._numbers[id(optimizer)] = len(self._described) + 1
        gone = self.session.timeline.optimizer_gone
        self._alive[id(optimizer)] = weakref.ref(optimizer, lambda _: gone(number))
        self._described.append(_description(optimizer))
        self.session.recorder.state("optimizers", list(self._described))
        return number


def _description(optimizer: Any) -> dict[str, Any]:  # noqa: ANN401
    """Class, where its parameters live and how many there are, and the switches that matter for speed."""
    groups = optimizer.param_groups
    parameters = [p for group in groups for p in group["params"]]
    first = groups[0] if groups else {}
    return {
        "class": type(optimizer).__name__,
        "devices": sorted({p.device.type for p in parameters}),
        "dtypes": sorted({str(p.dtype) for p in parameters}),
        "tensors": len(parameters),
        "parameters": sum(p.numel() for p in parameters),
        "switches": {name: first[name] for name in ("foreach", "fused", "capturable") if name in first},
    }


def _watch_backward(session: Session, torch: Any) -> None:  # noqa: ANN401
    """`Tensor.backward` looks `torch.autograd.backward` up at each call."""
    original = torch.autograd.backward
    timeline, later = session.timeline, session.recorder.later
    mark_begin = session.guarded(NAME, timeline.backward_begins)
    mark_end = session.guarded(NAME, timeline.backward_ends)

    def started() -> Key | None:
        key = session.sites.key()
        later(mark_begin, key, timeline.now())
        return key

    begins = session.guarded(NAME, started)
    ends = session.guarded(NAME, lambda key: later(mark_end, key, timeline.now()))

    @functools.wraps(original)
    def backward(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        key = begins()
        try:
            return original(*args, **kwargs)
        finally:
            ends(key)

    torch.autograd.backward = backward
