"""Explicit waits for the device, and the code around them that needs one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.call_graph.passed import call_at
from torchperf_lint.facts.copies.moves import span_of_loop
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.reads.begun_elsewhere import copies_to_host, ends_a_copy, ends_own_stream
from torchperf_lint.facts.reads.clocks import TIMER, clock_behind, clocks_of, is_clock, is_timer
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.patterns import pattern

_WHOLE_DEVICE = ("torch.cuda.synchronize", "torch.accelerator.synchronize")
_WAITING = pattern(
    r"^torch\.(?:(?:cuda\.)?(?:Stream|Event)|cuda\.(?:current_stream|default_stream|ExternalStream)|"
    r"accelerator\.current_stream)\(\)\.synchronize$"
)
_MEMORY = pattern(r"^(?:max_)?memory_(?:allocated|reserved|stats|summary|snapshot)$|^reset_(?:max|peak)_memory")
_MEASURED = pattern(r"^reset_(?:max|peak)_memory")
_CAPTURE = frozenset({"CUDAGraph", "graph", "capture_begin", "make_graphed_callables", "replay"})
_MEASURES = pattern(r"bench|measure|profil|throughput|speed|latency|timing|(?:^|[._])time(?:[._]|$)", re.IGNORECASE)
_PAGED = pattern(r"(?:^|_)(?:paged|managed|uvm)(?:_|$)")
"""Memory that both host and device write to: `if self.is_paged: torch.cuda.synchronize()`."""
_PROFILER = pattern(
    r"(?:profiler|(?:^|[._])(?:timer|stop_?watch))\.(?:tick|tic|toc|start|stop|lap|record|end|mark)$", re.IGNORECASE
)
"""Methods that take a time; `profiler.step()` of torch's own only counts the steps."""
_HANDS_OVER = frozenset({"put", "put_nowait", "send", "share_memory_", "_share_cuda_", "reduce_tensor"})


def synchronisations(file: SourceFile) -> Iterator[Site]:
    """The hot calls that wait for a device, a stream or an event, in order."""
    for site in file.calls_of(*_WHOLE_DEVICE):
        if site.hot is not None:
            yield site
    for site in file.hot_calls("synchronize"):
        dotted = file.denotes(site.call.func, site)
        if dotted is not None and _WAITING.match(dotted):
            yield site


def is_needed(file: SourceFile, site: Site) -> bool:
    """Whether the function around measures something, captures a graph, or reads a copy that does not block."""
    if TIMER.search(last_part(file.outline.functions[site.function].name)) or _in_a_timer(file, site):
        return True
    if _is_timed_where_called(file, site):
        return True
    callees = [last_part(callee) for callee in _callees(file, site)]
    if any(_MEMORY.match(name) or name in _CAPTURE for name in callees):
        return True
    copied = any(copies_to_host(call) for call in _calls(file, site)) or ends_a_copy(file, site)
    return _reads_a_clock(file, site) or copied


def _reads_a_clock(file: SourceFile, site: Site) -> bool:
    """Whether the function reads a clock where a wait in each turn matters to it: in the loop, or where it is unknown.

    A clock that is read before and after the whole loop needs one wait, behind the loop.
    """
    clocks = clocks_of(file, site.function)
    span = span_of_loop(site)
    if span is None or _MEASURES.search(file.outline.functions[site.function].qualname):
        return bool(clocks)
    return any(span[0] <= clock < span[1] for clock in clocks)


class TimedAsAWhole(NamedTuple):
    """A loop with a clock before and behind it, and none inside that a wait there is for."""

    waits: int
    """The line that waits for the device between the loop and the clock; 0 where none does."""


def timed_as_a_whole(file: SourceFile, site: Site) -> TimedAsAWhole | None:
    """Whether a clock is read before and behind the loop around a wait that no clock inside needs."""
    span, clock, body = span_of_loop(site), clock_behind(site), file.project.body(file.path)
    if span is None or clock is None or body is None:
        return None
    around = body.block_of(site.function, span[0])
    for wait in file.calls_of(*_WHOLE_DEVICE):
        block = body.block_of(site.function, wait.start) if wait.function == site.function else None
        if block is not None and span[1] <= wait.start < clock and around[: len(block)] == block:
            return TimedAsAWhole(wait.start[0])
    return TimedAsAWhole(0)


def _in_a_timer(file: SourceFile, site: Site) -> bool:
    """Whether the call ends a block that a timer measures: the last of its statements."""
    around = file.enclosing(site.function)
    statement = around.statement(site.call)
    for node in around.around(site.call):
        if isinstance(node, ast.With | ast.AsyncWith):
            timers = is_timer(node)
            last = next((part for part in reversed(node.body) if not _only_prints(part)), None)
            return timers and last is not None and any(part is statement for part in ast.walk(last))
    return False


def _only_prints(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Call) and chain(value.func) == "print"


def _is_timed_where_called(file: SourceFile, site: Site) -> bool:
    """Whether all that a function does is to wait, and every call of it stands before what takes a time.

    `sync(device)`, and in the next line `profiler.tick("forward")`.
    """
    function = file.enclosing(site.function).top
    statement = file.enclosing(site.function).statement(site.call)
    body = [s for s in getattr(function, "body", []) if not isinstance(getattr(s, "value", None), ast.Constant)]
    while len(body) == 1 and isinstance(body[0], ast.If) and not body[0].orelse:
        body = body[0].body
    if body != [statement]:
        return False
    sites = file.project.hotness.callers.get(FunctionKey(file.path, site.function), ())
    return bool(sites) and all(_is_before_a_clock(file, called) for called in sites)


def _is_before_a_clock(file: SourceFile, site: CallSite) -> bool:
    """Whether the next statement of the block takes a time; behind a loop it does so once."""
    body, call = file.project.body(site.path), call_at(file.project.values, site)
    if body is None or call is None:
        return False
    statements = sorted(body.statements(site.call.function), key=lambda s: s.lineno)
    for statement, behind in pairwise(statements):
        if isinstance(statement, ast.Expr) and statement.value is call:
            value = behind.value if isinstance(behind, ast.Expr | ast.Assign) else None
            if not isinstance(value, ast.Call) or not _takes_a_time(chain(value.func)):
                return False
            blocks = [body.block_of(site.call.function, body.at(each)) for each in (statement, behind)]
            return blocks[0] == blocks[1]
    return False


def _takes_a_time(callee: str) -> bool:
    return is_clock(callee) or bool(_PROFILER.search(callee))


def times_each_step(file: SourceFile, site: Site) -> bool:
    """Whether a loop that trains waits in every step for nothing but the clock that it shows.

    The mean over many steps is the same without a wait; what measures for its own sake is called so.
    """
    hot = site.hot
    if hot is None or hot.kind != "step" or hot.depth or hot.loop is None or hot.optional:
        return False
    if _MEASURES.search(file.outline.functions[site.function].qualname) or _is_asked_to_measure(file, site):
        return False
    callees = [last_part(callee) for callee in _callees(file, site)]
    # The allocator counts on the host: what it has handed out by now needs no wait.
    others = [name for name in callees if _MEASURED.match(name) or name in _CAPTURE or name == "elapsed_time"]
    steps = any(callee.endswith((".step", "scaler")) for callee in _callees(file, site))
    return steps and not others and not any(copies_to_host(call) for call in _calls(file, site))


def _is_asked_to_measure(file: SourceFile, site: Site) -> bool:
    """Whether the call is behind a switch that asks for times: `if args.time_exp:`, `if profile and step > 10:`."""
    around = file.enclosing(site.function).around(site.call)
    tests = [node.test for node in around if isinstance(node, ast.If)]
    switches = (part for test in tests for part in (test.values if isinstance(test, ast.BoolOp) else [test]))
    return any(isinstance(s, ast.Name | ast.Attribute) and _MEASURES.search(chain(s)) for s in switches)


def may_be_needed(file: SourceFile, site: Site) -> bool:
    """Whether the function around, or its class, has streams of its own; or it hands tensors on, or pages them."""
    if _is_for_paged(file, site) or ends_own_stream(file, site):
        return True
    return any(
        last_part(callee) in _HANDS_OVER or callee.endswith(("cuda.stream", "cuda.Stream", "record_stream"))
        for callee in _callees(file, site)
    )


def _is_for_paged(file: SourceFile, site: Site) -> bool:
    """Whether a call waits for paged memory, by the test around it; in the `else` of that nothing is paged."""
    node: ast.AST = site.call
    for parent in file.enclosing(site.function).around(site.call):
        if isinstance(parent, ast.If) and node in parent.body and _PAGED.search(last_part(chain(parent.test))):
            return True
        node = parent
    return False


def _callees(file: SourceFile, site: Site) -> Iterator[str]:
    return (call.callee for call in file.outline.calls if call.function == site.function)


def _calls(file: SourceFile, site: Site) -> Iterator[ast.Call]:
    return (node for node in file.enclosing(site.function).parents if isinstance(node, ast.Call))
