"""Collectives that Python calls: how often and where, how many bytes, and how long the host stood in them.

The functions of torch.distributed are replaced wherever torch keeps them, and `Work.wait`, by functions that call the
original; what one of them calls in turn is part of it. Not seen is what never comes through Python: the buckets of
DistributedDataParallel, functional collectives and DTensor, what a compiled graph exchanges. FSDP's are seen. Left
alone are `monitored_barrier` and `_reduce_scatter_base`: torch warns in the name of their caller, who would be us.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable, Iterator
from threading import get_ident
from time import perf_counter
from typing import TYPE_CHECKING, Any

from torchperf_lint.runtime.probes import _dynamo

if TYPE_CHECKING:
    from torchperf_lint.runtime.recorder import Attributes
    from torchperf_lint.runtime.session import Session

NAME = "collectives"
KIND = "collective"
_HOME = "torch.distributed.distributed_c10d"
_FUNCTIONAL = "torch.distributed._functional_collectives"
_OF_TENSORS = (
    *("all_reduce", "reduce", "broadcast", "barrier", "gather", "scatter", "all_to_all", "all_to_all_single"),
    *("all_gather", "all_gather_single", "all_gather_into_tensor", "_all_gather_base", "all_gather_coalesced"),
    *("reduce_scatter", "reduce_scatter_single", "reduce_scatter_tensor", "all_reduce_coalesced"),
)
_OF_OBJECTS = ("all_gather_object", "gather_object", "broadcast_object_list", "scatter_object_list")


def install(session: Session, torch: Any) -> str | None:  # noqa: ANN401
    """Watch the functions; the reason where this torch has none."""
    home = sys.modules.get(_HOME)
    if home is None or not torch.distributed.is_available():
        return f"torch {torch.__version__} was built without torch.distributed"
    watch = _Watch(session, torch, home)
    found = [original for name in (*_OF_TENSORS, *_OF_OBJECTS) if (original := getattr(home, name, None)) is not None]
    for original in found:
        _put(original, _watched(original, watch))
    home.Work.wait = _watched(home.Work.wait, watch)
    session.restarts.append(watch.inside.clear)
    held = _held_elsewhere(found)
    return f"{held} had the original before the watch began: what it calls was not counted" if held else None


class _Watch:
    def __init__(self, session: Session, torch: Any, home: Any) -> None:  # noqa: ANN401
        self.session = session
        self.compiling = _dynamo.compiling(torch)
        self.inside: set[int] = set()
        """Threads that are in a collective: what it calls is no other one."""
        self.ended = session.guarded(NAME, self._ended)
        self._tensor, self._group, self._work = torch.Tensor, home.ProcessGroup, home.Work
        self._world = home.GroupMember
        self._groups: weakref.WeakKeyDictionary[Any, Attributes] = weakref.WeakKeyDictionary()

    def _ended(self, name: str, args: Any, kwargs: Any, result: Any, seconds: float) -> None:  # noqa: ANN401
        ms = seconds * 1000
        session = self.session
        session.timeline.met(ms)
        if name == "wait":
            attributes: Attributes = ()
        else:
            attributes = (*self._about(args, kwargs), ("asynchronous", isinstance(result, self._work)))
        nbytes = max(map(self._bytes, (*args, *kwargs.values())), default=0)
        session.recorder.event(KIND, name, ms=ms, nbytes=nbytes, attributes=attributes)

    def _about(self, args: Any, kwargs: Any) -> Attributes:  # noqa: ANN401
        """The process group's name, if somebody gave it one (torch's own differ by rank), and its processes."""
        group = kwargs.get("group")
        if group is None:
            group = next((value for value in args if isinstance(value, self._group)), self._world.WORLD)
        if not isinstance(group, self._group):
            return ()
        said = self._groups.get(group)
        if said is None:
            name = str(getattr(group, "group_desc", "undefined"))
            processes = ("processes", group.size())
            said = self._groups[group] = (processes,) if name == "undefined" else (("group", name), processes)
        return said

    def _bytes(self, value: Any) -> int:  # noqa: ANN401
        """Of a tensor, or a list of them: what this process gives, or gets; 0 for what is neither."""
        if isinstance(value, self._tensor):
            return int(value.numel() * value.element_size())
        if isinstance(value, (list, tuple)):
            return sum(map(self._bytes, value))
        return 0


def _watched(original: Callable[..., Any], watch: _Watch) -> Callable[..., Any]:
    name, inside, ended, compiling = original.__name__, watch.inside, watch.ended, watch.compiling

    @functools.wraps(original)
    def collective(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        if compiling():
            return original(*args, **kwargs)
        thread = get_ident()
        if thread in inside:
            return original(*args, **kwargs)
        inside.add(thread)
        started = perf_counter()
        try:
            result = original(*args, **kwargs)
        finally:
            inside.discard(thread)
        ended(name, args, kwargs, result, perf_counter() - started)
        return result

    return collective


def _put(original: Any, watched: Any) -> None:  # noqa: ANN401
    """In place of the original, wherever torch has it by any name; what is imported later finds ours."""
    for module in list(_of_torch()):
        for name, value in list(vars(module).items()):
            if value is original:
                setattr(module, name, watched)
    # Dynamo knows collectives by identity, and puts functional ones in their place.
    known = getattr(sys.modules.get(_FUNCTIONAL), "traceable_collective_remaps", {})
    if original in known:
        known[watched] = known[original]


def _held_elsewhere(originals: list[Any]) -> str | None:
    """A module that has imported one by name; there is none yet where torch itself has only just been imported."""
    known = set(map(id, originals))
    for name, module in list(sys.modules.items()):
        for value in list(getattr(module, "__dict__", {}).values()):
            if id(value) in known:
                return f"module {name}"
    return None


def _of_torch() -> Iterator[Any]:
    for name, module in list(sys.modules.items()):
        if name.startswith("torch.distributed"):
            yield module
