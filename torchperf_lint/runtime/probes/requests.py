"""Outermost calls of modules, and blocks without gradients: what a run has for turns that neither trains nor loads.

Also where a loop without a loader calls what it trains with gradients off: it acts in an environment, or evaluates;
and where such a loop first calls a model after an optimizer's step, which is where its next step begins.
`nn.Module.__call__` (or that of a few classes, see `_outermost`), the blocks' `__enter__` and `__exit__`, and what
switches modules to evaluation (where other methods of a model may be called, so that its parts are the outermost) are
replaced, and given back by the first backward pass after a loader's batch: from then on batches and steps say all.
What Dynamo traces is the original.
"""

from __future__ import annotations

import functools
import sys
import weakref
from sys import _getframe
from threading import get_ident
from typing import TYPE_CHECKING, Any

from torchperf_lint.runtime.probes import _dynamo, _outermost, _over_eval_frame
from torchperf_lint.runtime.requests import Requests

if TYPE_CHECKING:
    from types import FrameType

    from torchperf_lint.events import Record
    from torchperf_lint.runtime.session import Session
    from torchperf_lint.runtime.sites import Key

NAME = "requests"
_CALLS = "__call__"
_KEPT_BY_DYNAMO = "unpatched_nn_module_call"
"""By this name Dynamo remembers what calls a module, to know one whose call nobody has replaced."""


def install(session: Session, torch: Any) -> str | None:  # noqa: ANN401
    """Watch calls and blocks until a loader feeds training."""
    calls = _Calls(session, torch)
    original = torch.nn.Module.__call__
    everywhere = _Patch(torch.nn.Module, _CALLS, _over_eval_frame.calling(torch, calls, original))
    there = _over_eval_frame.calling(torch, calls, _over_eval_frame.current_call(torch.nn.Module))
    calls.outermost = _outermost.Outermost(torch.nn.Module, everywhere, there)
    calls.patches = [everywhere, *_patches(torch, calls)]
    calls.restart()
    for pickler in _outermost.BY_VALUE:
        session.after_import(pickler, _outermost.widening(session, calls.outermost))
    session.restarts.append(calls.restart)
    session.recorder.sources.append(calls.records)
    return None


def _patches(torch: Any, calls: _Calls) -> Any:  # noqa: ANN401
    for block in (torch.no_grad, torch.inference_mode):
        yield _Patch(block, "__enter__", _entering(block.__enter__, calls))
        yield _Patch(block, "__exit__", _leaving(block.__exit__, calls))
    yield _Patch(torch.nn.Module, "train", _switching(torch, torch.nn.Module.train, calls))


def _switching(torch: Any, original: Any, calls: _Calls) -> Any:  # noqa: ANN401
    traced = _over_eval_frame.is_tracing(torch)

    @functools.wraps(original)
    def train(self: Any, mode: bool = True) -> Any:  # noqa: ANN401
        if not mode and not traced() and calls.awake:
            calls.switches()
        return original(self, mode)

    return train


def _entering(original: Any, calls: _Calls) -> Any:  # noqa: ANN401
    @functools.wraps(original)
    def enter(self: Any) -> Any:  # noqa: ANN401
        if calls.answers:
            calls.enters()
        return original(self)

    return enter


def _leaving(original: Any, calls: _Calls) -> Any:  # noqa: ANN401
    @functools.wraps(original)
    def leave(self: Any, *error: Any) -> Any:  # noqa: ANN401
        if calls.answers:
            calls.leaves()
        return original(self, *error)

    return leave


class _Patch:
    """One method that is replaced, and given back unless somebody has replaced ours."""

    def __init__(self, owner: Any, name: str, ours: Any) -> None:  # noqa: ANN401
        self.owner, self.name, self.ours = owner, name, ours
        self.original = vars(owner).get(name)

    def is_there(self) -> bool:
        """Whether ours is, and nobody has replaced it."""
        return vars(self.owner).get(self.name) is self.ours

    def put(self) -> None:
        """Ours in place of the original."""
        if vars(self.owner).get(self.name) is self.original:
            setattr(self.owner, self.name, self.ours)
            self._tell(self.original, self.ours)

    def take(self) -> None:
        """The original in place of ours."""
        if vars(self.owner).get(self.name) is self.ours:
            setattr(self.owner, self.name, self.original)
            self._tell(self.ours, self.original)

    def _tell(self, before: Any, now: Any) -> None:  # noqa: ANN401
        if self.name == _CALLS:
            for name in ("torch._dynamo.utils", "torch._dynamo.variables.nn_module"):
                module = sys.modules.get(name)
                if getattr(module, _KEPT_BY_DYNAMO, None) is before:
                    setattr(module, _KEPT_BY_DYNAMO, now)


class _Calls:
    """What happens at each outermost call."""

    def __init__(self, session: Session, torch: Any) -> None:  # noqa: ANN401
        self._session, self._torch = session, torch
        self.timeline, self._recorder = session.timeline, session.recorder
        self.requests = Requests(session.recorder, session.timeline)
        self.patches: list[_Patch] = []
        self.awake = False
        self.answers = False
        """Whether calls and blocks are answers: nothing has trained."""
        self.learns = False
        """Whether it trains, and what is trained has not been called without gradients since the last backward pass."""
        self._evaluating = False
        """Whether what is trained has been called in evaluation mode, and since then neither otherwise nor backward."""
        self._look = session.guarded(NAME, self._look_at_training)
        self.outermost: _outermost.Outermost | None = None
        self.seen = session.guarded(NAME, self._seen)
        self.waiting = session.on_call
        self.tells = session.guarded(NAME, self._tells)
        self.leads = session.guarded(NAME, self._leads)
        self.switches = session.guarded(NAME, self._switches)
        self.begins = session.guarded(NAME, self._begins)
        self.ends = session.guarded(NAME, self._ends)
        self.enters = session.guarded(NAME, self._enters)
        self.leaves = session.guarded(NAME, self._leaves)

    def restart(self) -> None:
        """A forked child may serve, or act, where its parent trained."""
        self.requests.restart()
        self._known: dict[int, tuple[weakref.ref[Any], int, bool]] = {}
        self._callers: dict[Key | None, bool] = {}
        self._acts = self.learns = self._evaluating = False
        self.awake = self.answers = True
        if self._look not in self._session.on_backward:
            self._session.on_backward.append(self._look)
        if self.outermost is not None and not self.outermost.wide:
            self.outermost.widen()
        for patch in self.patches:
            patch.put()

    def _look_at_training(self, tensors: Any) -> None:  # noqa: ANN401
        """At each backward pass, until there is nothing more to watch."""
        del tensors
        if not self.timeline.backwards:
            return
        self.answers, self.learns, self._evaluating = False, not self._acts, False
        if self.timeline.batches:
            self._sleep()

    def _sleep(self) -> None:
        """What was compiled meanwhile has our methods in its guards, so these stay then, and do nothing."""
        self.awake = self.answers = False
        if self._look in self._session.on_backward:
            self._session.on_backward.remove(self._look)
        if not _dynamo.has_compiled():
            if self.outermost is not None:
                self.outermost.give_back()
            for patch in self.patches:
                patch.take()

    def records(self) -> list[Record]:
        """`requests`; and the time to look whether there is anything to watch."""
        if self.awake and self.timeline.batches and self.timeline.backwards:
            self._sleep()
        elif self.awake and self.outermost is not None:
            self.outermost.look()
        return list(self.requests.records())

    def _seen(self, kind: type) -> None:
        if self.outermost is not None:
            self.outermost.seen(kind)

    def _switches(self) -> None:
        if self.outermost is not None and not self.outermost.wide:
            self.outermost.widen()

    def _begins(self, module: Any) -> None:  # noqa: ANN401
        here, timeline = self.requests.here, self.timeline
        here.inside = True
        here.call = None
        if self._recorder.muted:
            return
        at = timeline.clock()
        if timeline.backwards or timeline.steps:
            graded = self._torch.is_grad_enabled()
            if (not graded or not module.training) and self._is_trained(module):
                self._acts_or_evaluates(module, at, graded=graded)
                return
            if self._evaluating and graded and self._is_trained(module):
                self._evaluating = False
                self._recorder.later(self._leaves_evaluation, get_ident())
            if self._acts:
                self._acts = False
                self._recorder.later(timeline.learns, self._key(), at, get_ident())
            elif timeline.stepped_on:
                self._leads(module)
        elif not timeline.batches:
            key = self._key()
            here.call = ("answers", key, at, here.waited)
            self.requests.call_begins(at, key, within=self._is_within_model(key))
        else:
            self._recorder.later(self._calls, get_ident())

    def _calls(self, thread: int) -> None:
        if self.timeline.is_training(thread):
            with self._recorder.lock:
                self._recorder.scopes.calls()

    def _acts_or_evaluates(self, module: Any, at: float, *, graded: bool) -> None:  # noqa: ANN401
        """What is trained is called without gradients, in whatever mode, or with them (`graded`) in evaluation mode."""
        timeline, key, thread = self.timeline, self._key(), get_ident()
        opens = timeline.stepped_on == thread
        if graded and opens:
            self._leads(module)
        self.requests.here.call = ("evaluates" if graded else "acts", key, at, 0.0)
        self._evaluating = self._evaluating or not module.training
        self._recorder.later(self._evaluates, key, opens, graded, module.training, thread)
        self._acts, self.learns = not graded or self._acts, False
        timeline.stepped_on = 0

    def _evaluates(self, key: Key | None, opens: bool, graded: bool, acts: bool, thread: int) -> None:
        if self.timeline.is_training(thread):
            with self._recorder.lock:
                self._recorder.scopes.evaluates(key, opens=opens, graded=graded, acts=acts)

    def _leaves_evaluation(self, thread: int) -> None:
        if self.timeline.is_training(thread):
            with self._recorder.lock:
                self._recorder.scopes.runs.is_left()

    def _evaluated(self, thread: int) -> None:
        if self.timeline.is_training(thread):
            with self._recorder.lock:
                self._recorder.scopes.evaluated()

    def _leads(self, module: Any) -> None:  # noqa: ANN401
        """An optimizer has stepped: if this is a model (no loss, no metric), here the next step begins."""
        timeline, thread = self.timeline, get_ident()
        if timeline.stepped_on != thread or self._recorder.muted:
            return
        if not _has_parameters(module):
            return
        timeline.stepped_on = 0
        self._recorder.later(timeline.called, self._key(), timeline.clock(), thread)

    def _tells(self, module: Any) -> None:  # noqa: ANN401
        """Tell who waits for it where a model is called; no loss, no metric."""
        if _has_parameters(module):
            key = self._key()
            for callback in tuple(self.waiting):
                callback(key)

    def _key(self) -> Key | None:
        return self._session.sites.key(2)

    def _ends(self) -> None:
        here = self.requests.here
        here.inside = False
        call, here.call = getattr(here, "call", None), None
        if call is None:
            return
        what, key, began, waited = call
        now = self.timeline.clock()
        if what == "acts":
            self._recorder.later(self.timeline.acted, key, now, get_ident())
        if what != "answers":
            self._recorder.later(self._evaluated, get_ident())
        else:
            self.requests.call_ends(began, now, waited, key)

    def _is_within_model(self, key: Key | None) -> bool:
        """Whether what calls there is a method of a module: `generate`, `encode`; looked up once for each place."""
        known = self._callers.get(key)
        if known is None:
            frame: FrameType | None = _getframe(2)
            while frame is not None and (key is None or frame.f_code is not key.code):
                frame = frame.f_back
            owner = frame.f_locals.get("self") if frame is not None else None
            known = self._callers[key] = isinstance(owner, self._torch.nn.Module)
        return known

    def _enters(self) -> None:
        if not self.timeline.batches:
            self.requests.block_begins(self.timeline.clock())

    def _leaves(self) -> None:
        if self.requests.here.blocks:
            self.requests.block_ends(self.timeline.clock())

    def _is_trained(self, module: Any) -> bool:  # noqa: ANN401
        """Whether some of its parameters are trained; asked again where more are."""
        trained, by_hand = self._session.trained, self._session.trained_by_hand
        number = len(trained) + len(by_hand)
        known = self._known.get(id(module))
        if known is not None and known[0]() is module and known[1] == number:
            return known[2]
        found = any(id(parameter) in trained or id(parameter) in by_hand for parameter in module.parameters())
        self._known[id(module)] = (weakref.ref(module), number, found)
        return found


def _has_parameters(module: Any) -> bool:  # noqa: ANN401
    """A module may override `parameters` and return a list."""
    return next(iter(module.parameters()), None) is not None
