"""Loops over the parameters of a model: hundreds of turns every step."""

from __future__ import annotations

import ast
import re

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.source import Place, SourceFile
from torchperf_lint.facts.outlines.records import Region
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import nodes_of
from torchperf_lint.patterns import pattern

Loop = ast.For | ast.AsyncFor | ast.comprehension

_WRAPPERS = frozenset("enumerate list tuple zip tqdm sorted reversed filter iter set".split())
_PARTS = frozenset(
    "parameters named_parameters trainable_parameters get_parameters buffers named_buffers state_dict".split()
)
_NAMED = frozenset({"named_parameters", "named_buffers"})
_VIEWS = frozenset({"keys", "items", "values"})
_GRADIENTS = pattern(r"^(?:\w+_)?(?:grads|gradients|params_with_grad|exp_avgs|exp_avg_sqs)$")
_NAME = pattern(r"^(?:\w+_)?(?:params|parameters|param_list|named_params|weights)$")
_MARKS = frozenset("grad data requires_grad detach mul_ add_ sub_ lerp_ copy_".split())
"""What is asked of parameters, and of little else that is called `params`."""
_CALLERS = 4
_SHORT = 20
"""Lines of a loop that does nothing but look two states up, name by name."""
_HOPS = 2
"""Calls between the loop and the helper that reads."""


def per_parameter(file: SourceFile, place: Place) -> Loop | None:
    """The innermost loop over parameters, or over their gradients, that a place is in the body of."""
    body = file.project.body(file.path)
    for loop in file.enclosing(place.function).loops(place.expression):
        targets = [n.id for n in nodes_of(loop.target) if isinstance(n, ast.Name)]
        parts = _iterated(loop.iter)
        if any(_are_parameters(body, place.function, targets, chain(part)) for part in parts):
            return loop
        if body is not None and any(_in_a_dict(body, place.function, part) for part in parts):
            return loop
        if body is not None and isinstance(loop, ast.For) and _looks_up_states(body, place.function, loop, targets):
            return loop
    return None


def _looks_up_states(body: Body, function: int, loop: ast.For, targets: list[str]) -> bool:
    """`for k in self.keys: averages[k].copy_(...)`, of `averages = self.ema.state_dict()`."""
    if (loop.end_lineno or loop.lineno) - loop.lineno > _SHORT:
        return False
    for node in nodes_of(loop):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name) and node.slice.id in targets:
            made = body.assigned_once(function, chain(node.value), body.at(node.value))
            if isinstance(made, ast.Call) and last_part(chain(made.func)) == "state_dict":
                return True
    return False


def _in_a_dict(body: Body, function: int, iterated: ast.expr) -> bool:
    """`shown.keys()`, of `shown = dict(model.named_parameters())`, and what goes over `averages = x.state_dict()`."""
    while isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Attribute) and iterated.func.attr in _VIEWS:
        iterated = iterated.func.value
    if not isinstance(iterated, ast.Name):
        return False
    made = body.assigned_once(function, iterated.id, body.at(iterated))
    if isinstance(made, ast.Call) and last_part(chain(made.func)) == "state_dict":
        return True
    if not isinstance(made, ast.Call) or last_part(chain(made.func)) not in ("dict", "OrderedDict") or not made.args:
        return False
    return isinstance(made.args[0], ast.Call) and last_part(chain(made.args[0].func)) in _NAMED


def called_per_parameter(file: SourceFile, place: Place) -> str | None:
    """The loop over parameters, as written, whose turns call the function that a place is in: each of its callers is
    in such a loop, as in an optimizer that leaves the update of one parameter to a helper."""
    return _called(file, FunctionKey(file.path, place.function), _HOPS) if place.function > 0 else None


def _called(file: SourceFile, key: FunctionKey, hops: int) -> str | None:
    sites = file.project.hotness.callers.get(key, ())
    if not sites or len(sites) > _CALLERS:
        return None
    found: list[str | None] = []
    for site in sites:
        regions, number = file.project.index.outlines[site.path].regions, site.call.region
        around: str | None = None
        while around is None and number >= 0 and regions[number].kind != "function":
            around = _written_loop(file, site.path, regions[number])
            number = regions[number].parent
        if around is None and hops > 1:
            around = _called(file, FunctionKey(site.path, site.call.function), hops - 1)
        found.append(around)
    return found[0] if None not in found else None


def _written_loop(file: SourceFile, path: str, region: Region) -> str | None:
    """What a loop goes over, where that are parameters."""
    if region.kind != "loop":
        return None
    target, _, iterated = region.detail.partition(" in ")
    names = re.findall(r"\w+", target.removeprefix("for "))
    return iterated if _are_parameters(file.project.body(path), region.function, names, region.iterable) else None


def _iterated(node: ast.expr) -> list[ast.expr]:
    """What is iterated, wrappers such as `enumerate` and `zip` taken off."""
    found, stack = [], [node]
    while stack:
        current = stack.pop()
        if isinstance(current, ast.Call) and last_part(chain(current.func)) in _WRAPPERS:
            stack += current.args
        else:
            found.append(current)
    return found


def _are_parameters(body: Body | None, function: int, targets: list[str], iterated: str) -> bool:
    """Whether a chain that a loop goes over stands for parameters; of a mere name its targets' uses decide."""
    written = iterated.removesuffix(".items()").removesuffix(".values()")
    name = last_part(written)
    if written.endswith("()"):
        return name in _PARTS
    if written.endswith("[params]") or _GRADIENTS.match(name):
        return True
    if body is None or not _NAME.match(name):
        return False
    return any(use in _MARKS for target in targets for use, _line in body.uses(function, target))
