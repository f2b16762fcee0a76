"""How reasons spread from functions that are hot to those that they call, the best reason first.

Loops' callees come first, then what is hot by its role, then what these call; then what loaders' workers call and no
pass or step does; last what only evaluation, or perhaps nobody, calls. A call that stands where the caller which the
reason names never gets to waits for another reason: for `decode(x, mode="stream")` where `forward` passes "forward",
say. What an evaluation was the first to call, and a training step calls too, has the step's reason after all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.hotness.hot import Hot, comes_last

Reasons = Mapping[FunctionKey, Hot]
Passed = tuple[FunctionKey, Hot, CallSite | None]


class Ways(NamedTuple):
    """What spreading asks of a project."""

    never_hot: Callable[[FunctionKey, bool], bool]
    """Of a function, called or not: whether it is cold whoever calls it."""
    passed_on: Callable[[FunctionKey, Hot], Iterator[Passed]]
    """The functions that a hot one runs, with their reasons and the calls."""
    not_by: Callable[[Hot, CallSite, FunctionKey, Reasons], bool]
    """Whether the callers that a reason names never get to a call, or not to that function by it."""
    never: Callable[[Hot, CallSite, FunctionKey, Reasons], bool]
    """Whether no caller that is hot gets to a call, or not to that function by it."""


class Spreading:
    """Works out which functions are hot, once."""

    def __init__(self, ways: Ways) -> None:
        self.ways = ways
        self.hot: dict[FunctionKey, Hot] = {}
        self._queue: deque[tuple[FunctionKey, Hot]] = deque()
        self._loading: deque[tuple[FunctionKey, Hot]] = deque()
        self._evaluated: deque[tuple[FunctionKey, Hot]] = deque()
        self._doubted: deque[tuple[FunctionKey, Hot]] = deque()
        self._waiting: dict[FunctionKey, set[tuple[CallSite, FunctionKey]]] = {}
        self._passed: set[FunctionKey] = set()

    def take(self, found: Iterable[tuple[FunctionKey, Hot]], called: bool) -> None:
        """Keep functions with their reasons; a function's first reason is its own, but for what steps and evaluations
        share."""
        for key, reason in found:
            if key in self.hot and self._explains_more(reason, self.hot[key]):
                self.hot[key] = reason
                self._queue.append((key, reason))
            elif key in self.hot:
                if key in self._waiting or key not in self._passed:
                    self._queue.append((key, reason))
            elif not self.ways.never_hot(key, called):
                later = self._later(reason)
                (self._queue if later is None else later).append((key, reason))
                if later is None:
                    self.hot[key] = reason

    @staticmethod
    def _explains_more(reason: Hot, known: Hot) -> bool:
        """Whether what a training step calls was known for an evaluation that calls it, too."""
        trains = reason.kind == "step" and reason.depth > 0 and not comes_last(reason)
        return trains and known.kind == "eval" and known.depth > 0

    def _later(self, reason: Hot) -> deque[tuple[FunctionKey, Hot]] | None:
        """Where a reason waits until there can be no better one."""
        if reason.kind == "data" and reason.depth:
            return self._loading
        if reason.evaluates:
            return self._evaluated
        return self._doubted if comes_last(reason) else None

    def run(self) -> dict[FunctionKey, Hot]:
        """All hot functions with their reasons."""
        queues = (self._queue, self._loading, self._evaluated, self._doubted)
        while any(queues) or self._release():
            for queue in queues:
                if queue:
                    key, reason = queue.popleft()
                    self._pass_on(key, reason)
                    break
        return self.hot

    def _pass_on(self, key: FunctionKey, reason: Hot) -> None:
        if self.hot.setdefault(key, reason) is reason:
            self._passed.add(key)
            self.take(self._reached(key, reason), called=True)
        elif key in self._waiting:
            self.take(self._reached_now(key, reason), called=True)

    def _reached(self, key: FunctionKey, reason: Hot) -> Iterator[tuple[FunctionKey, Hot]]:
        for target, passed, site in self.ways.passed_on(key, reason):
            if site is not None and self.ways.not_by(reason, site, target, self.hot):
                self._waiting.setdefault(key, set()).add((site, target))
            else:
                yield target, passed

    def _reached_now(self, key: FunctionKey, reason: Hot) -> Iterator[tuple[FunctionKey, Hot]]:
        """What waited for another reason, and is reached with this one."""
        waiting = self._waiting[key]
        for target, passed, site in self.ways.passed_on(key, reason):
            if site is not None and (site, target) in waiting and not self.ways.not_by(reason, site, target, self.hot):
                waiting.discard((site, target))
                yield target, passed

    def _release(self) -> bool:
        """Let go on with the reasons there are what some hot caller may reach, though it is not known which."""
        for key, waiting in sorted(self._waiting.items()):
            reason = self.hot[key]
            self.take(
                (
                    (target, passed)
                    for target, passed, site in self.ways.passed_on(key, reason)
                    if site is not None
                    and (site, target) in waiting
                    and not self.ways.never(reason, site, target, self.hot)
                ),
                called=True,
            )
        self._waiting.clear()
        return bool(self._queue or self._loading or self._evaluated or self._doubted)
