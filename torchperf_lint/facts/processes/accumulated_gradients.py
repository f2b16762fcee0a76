"""Loops around a DistributedDataParallel model that add up the gradients of several batches before a step.

for i, (x, y) in enumerate(loader):          for x, y in loader:
    loss = criterion(model(x), y)                for part in x.split(8):
    loss.backward()                                  model(part).sum().backward()
    if (i + 1) % 4 == 0:                         optimizer.step()
        optimizer.step()                         optimizer.zero_grad()
        optimizer.zero_grad()
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.constants.seen_constants import constants
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.outlines.signatures import defaulted
from torchperf_lint.facts.syntax.calls_within import calls_in, under_a_count
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.enclosing import Enclosing
from torchperf_lint.facts.syntax.literals import is_literal

_DDP = ("torch.nn.parallel.DistributedDataParallel()", "torch.nn.parallel.distributed.DistributedDataParallel()")
_LEFT_TO_OTHERS = (
    "no_sync",
    "require_backward_grad_sync",
    "set_requires_gradient_sync",
    "register_comm_hook",
    "deepspeed",
    ".accumulate(",
    "accelerator.",
    "manual_backward",
)
"""Who says one of these knows about the exchange, or leaves it to a framework."""
_PUTS_OFF = _LEFT_TO_OTHERS[:3]
"""What puts off the exchange for one model."""


class Accumulated(NamedTuple):
    """A backward pass that exchanges gradients which no step of the optimizer follows at once."""

    site: Site
    model: str
    line: int
    """Where the model is run."""
    waits: str
    """What the optimizer waits for, in words."""
    opt_in: bool
    """Whether the default is a step after each backward pass."""


def accumulated_gradients(file: SourceFile) -> Iterator[Accumulated]:
    """The backward passes of a file that exchange gradients too early."""
    if file.mentions(_LEFT_TO_OTHERS):
        return
    for site in file.hot_calls("backward"):
        if site.call.args or site.hot is None or site.hot.kind != "step":
            continue
        around = file.enclosing(site.function)
        loops = [node for node in around.around(site.call) if isinstance(node, ast.For | ast.While)]
        run = _run_in(file, site, loops[0]) if loops else None
        if run is None or _enters_a_helper(file, loops[0]):
            continue
        count = _awaited(around, loops, site.call)
        if count is not None:
            steps = isinstance(count, ast.Constant) and isinstance(count.value, int) and count.value < 2
            if not steps:
                yield Accumulated(site, chain(run.func), run.lineno, f"`{file.brief(count)}`", _is_one(site, count))


def _run_in(file: SourceFile, site: Site, loop: ast.For | ast.While) -> ast.Call | None:
    """The call of a DistributedDataParallel model in a loop."""
    for call in calls_in(loop):
        named = isinstance(call.func, ast.Name | ast.Attribute) and call.lineno <= site.call.lineno
        if named and is_distributed(file, FunctionKey(file.path, site.function), chain(call.func)):
            return call
    return None


def _enters_a_helper(file: SourceFile, loop: ast.For | ast.While) -> bool:
    """Whether a loop enters a context that a function of the project makes, which puts off the exchange.

    `with backend.forward_context(model, i, steps):`, which sets `model.require_backward_grad_sync = i == steps - 1`.
    """
    contexts = (item.context_expr for node in ast.walk(loop) if isinstance(node, ast.With) for item in node.items)
    names = {last_part(chain(context.func)) for context in contexts if isinstance(context, ast.Call)}
    project = file.project
    for path, outline in project.index.outlines.items() if names else ():
        for function in outline.functions:
            if function.name in names:
                lines = project.text(path).splitlines()[function.line - 1 : function.end_line]
                if any(word in line for line in lines for word in _PUTS_OFF):
                    return True
    return False


def is_distributed(file: SourceFile, key: FunctionKey, written: str, hops: int = 2) -> bool:
    """Whether a chain in a function denotes a DistributedDataParallel model, there or where a caller gets it from."""
    project = file.project
    things = project.types.things(key.path, key.index, written)
    if any(thing.kind == "external" and thing.dotted in _DDP for thing in things):
        return True
    function = project.index.function(key)
    if not hops or written not in [parameter.name for parameter in function.parameters]:
        return False
    for caller in project.hotness.callers.get(key, ()):
        call = call_at(project.values, caller)
        given = argument_for(call, function, written) if call is not None else None
        if given is not None and is_distributed(
            file, FunctionKey(caller.path, caller.call.function), chain(given), hops - 1
        ):
            return True
    return False


def _awaited(around: Enclosing, loops: list[ast.For | ast.While], backward: ast.Call) -> ast.expr | None:
    """What counts the batches that one step of the optimizer takes; None where each backward pass has its own step."""
    inner, outer = loops[0], loops[1] if len(loops) > 1 else None
    steps, cleared = _named(inner, "step"), _named(inner, "zero_grad")
    if steps:
        counts = [under_a_count(around, call, inner) for call in steps + cleared]
        together = under_a_count(around, backward, inner) is None
        return counts[0] if cleared and together and all(count is not None for count in counts) else None
    if cleared or outer is None or not isinstance(inner, ast.For):
        return None
    later = [call for call in _named(outer, "step") if call.lineno > inner.lineno]
    whole = later and _named(outer, "zero_grad") and around.parents.get(inner) is outer
    return inner.iter if whole else None


def _named(loop: ast.For | ast.While, name: str) -> list[ast.Call]:
    """The calls of a method of optimizers in a loop."""
    found = [call for call in calls_in(loop) if isinstance(call.func, ast.Attribute) and call.func.attr == name]
    return [call for call in found if name != "step" or _is_of_an_optimizer(call)]


def _is_of_an_optimizer(call: ast.Call) -> bool:
    owner = last_part(chain(call.func).removesuffix(".step")).lower()
    return "sched" not in owner and not owner.startswith("lr") and ("opt" in owner or "scaler" in owner)


def _is_one(site: Site, count: ast.expr) -> bool:
    """Whether a count is one unless somebody asks for more: by an option's or a parameter's default."""
    body = site.file.project.body(site.file.path)
    if body is None:
        return False
    given = body.functions[site.function]
    own = defaulted(given.args) if isinstance(given, ast.FunctionDef | ast.AsyncFunctionDef) else ()
    if any(name == chain(count) and is_literal(value, 1) for name, value in own):
        return True
    if any(map(_falls_back_to_one, [count, *_assigned(site, body, count)])):
        return True
    return constants(site.file.project, count, FunctionKey(site.file.path, site.function)) == {1}


def _assigned(site: Site, body: Body, count: ast.expr) -> list[ast.expr]:
    """What the function may have assigned to a count that is a name."""
    if not isinstance(count, ast.Name):
        return []
    bound = body.reaching(site.function, count.id, body.at(count)) or []
    return [definition.value for definition in bound if definition.how == "assign" and definition.value is not None]


def _falls_back_to_one(value: ast.expr) -> bool:
    """`1` beside what a setting may say, `getattr(settings, "every", 1)`, `settings.get("every", 1)`, `every or 1`."""
    if isinstance(value, ast.Call) and last_part(chain(value.func)) in ("getattr", "get") and len(value.args) > 1:
        value = value.args[-1]
    if isinstance(value, ast.BoolOp) and isinstance(value.op, ast.Or):
        value = value.values[-1]
    return is_literal(value, 1)
