"""Calls of models whose whole output is detached afterwards: autograd has recorded them for nobody.

    action = self.actor(state).cpu().data.numpy()
    target = self.critic_target(next_state, self.actor_target(next_state))
    target = reward + (discount * target).detach()

From the call its value is followed through arithmetic and names; all ways have to end where no gradient passes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from torchperf_lint.facts.autograd.evaluated_with_grad import model_switches_off
from torchperf_lint.facts.autograd.networks import is_plain, keeps, only_its_name_tells, runs_a_network
from torchperf_lint.facts.autograd.off_by_name import may_be_off_by_name
from torchperf_lint.facts.autograd.trainable import may_freeze
from torchperf_lint.facts.autograd.ways_of_values import Ways
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.host_scripts import stays_on_host
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.hotness.loop import EVERY_INPUT
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.facts.roles.role import EACH_STEP
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import below
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_ENDING = ("detach", "argmax", "sample", "item", "tolist", "max", "topk")
"""Methods one of which a function calls that has such an output."""
_CHOOSES = pattern(r"(?:^|_)(?:pick|select|choose|sample|get|compute)_actions?$|^act$")
_STATE = pattern(r"^(?:state|states|obs|observation|observations|s|frame)$")
"""What an agent is given to choose an action for."""
_TO_THE_HOST = pattern(r"(?:^|[._])(?:\w*numpy|to_?np|detach\w*)$")
"""Functions of projects that may detach what they are given, by their names."""
_WORDS_OF_HOST = ("numpy", "to_np", "tonp", "detach")
"""One of them is in all that `_TO_THE_HOST` finds."""
_FROZEN = pattern(
    r"toggle_grad|set_grad_enabled|jit\.(?:load|trace)|onnx|TensorRT|trt\b|"
    r"register_(?:full_)?(?:forward|backward)\w*_hook|deepspeed|FullyShardedDataParallel|fully_shard"
)
"""Where a graph may not be recorded at all, or switched off out of sight; or where somebody may look into it."""
_WORDS_OF_FROZEN = tuple("toggle_grad set_grad_enabled jit. onnx RT trt hook deepspeed ully".split())
"""One of them is in all that `_FROZEN` finds."""
_LOSS = pattern(r"^torch\.nn\.(?:modules\.loss\.)?(?!Adaptive)\w+Loss\(\)$")
_VIEWS = frozenset("view reshape flatten squeeze unsqueeze transpose permute contiguous float double half".split())
_KINDS = frozenset(("step", "eval", "rollout"))
_INPUTS = pattern(
    r" in .*(?:im(?:a?ge?)?s?|img|frame|video|path|file|folder|name|pair|sample|text|sentence|audio|wav|clip)"
    r"\w*(?:list|names|paths|files|dir|s)\b|\bglob\b|listdir|data_?set|loader",
    re.IGNORECASE,
)
"""Loops over images, files and the like, as written."""


class Recorded(NamedTuple):
    """A call whose graph nobody uses."""

    site: Site
    end: int
    """The line where the value is detached first, or read."""
    detached: bool
    """Whether it is detached, and not merely read."""
    named: bool
    """Whether only a name says that a network is called."""


def recorded_for_nobody(file: SourceFile) -> Iterator[Recorded]:
    """The hot calls of modules, outside of all that switches gradients off, whose output is only ever detached."""
    records = _beside_endings(file)
    trains = bool(file.calls_named("backward", "zero_grad"))
    for found in file.calls_among(records):
        site = replace(found, hot=_seldom_seen(file, found, trains)) if found.hot is None else found
        if site.hot is None or site.hot.kind not in _KINDS or site.hot.optional or not _is_given(site.call):
            continue
        grad_mode = file.project.hotness.grad_mode
        if not grad_mode.records(file.path, site.start):
            continue
        if site.hot.kind == "eval" and grad_mode.is_left_to_callers(FunctionKey(file.path, site.function)):
            continue
        if file.once(_records_little):
            return  # asked last, as it takes the longest
        # What thrown_graphs.py tells of is left to it; of evaluation it tells nothing.
        told = found.hot is not None and site.hot.kind != "eval" and _at_once(file, site)
        if told or not runs_a_network(file, site):
            continue
        if _is_a_loss(file, site) and not _carried(file, site):
            continue
        ways = Ways(site)
        ends = ways.ends() or (ways.reads if site.hot.kind == "eval" and ways.all_end else None)
        if not ends:
            continue
        guessed = found.hot is None and may_be_off_by_name(file.project, FunctionKey(file.path, site.function))
        if not guessed and not model_switches_off(file, site) and not keeps(file, site):
            yield Recorded(site, min(ends), bool(ways.lines), only_its_name_tells(file, site))


def _records_little(file: SourceFile) -> bool:
    """Whether graphs may be switched off out of sight in a file, or are of small networks and cost next to nothing."""
    frozen = file.mentions(_WORDS_OF_FROZEN) and _FROZEN.search(file.text) is not None
    return frozen or may_freeze(file.text) or stays_on_host(file)


def _beside_endings(file: SourceFile) -> list[Call]:
    """The calls that may run a network, in functions that end some graph."""
    calls = file.outline.calls
    ending = {call.function for call in file.calls_named(*_ENDING)}
    if file.mentions((".data",)):
        raw = {number for number, line in enumerate(file.lines, 1) if ".data" in line}
        ending |= {call.function for call in calls if call.line in raw}
    if file.mentions(_WORDS_OF_HOST):
        named = tuple(filter(_TO_THE_HOST.search, file.called_names))
        ending |= {call.function for call in file.calls_named(*named) if call.callee.endswith(named)}
    return [call for call in calls if call.function in ending and is_plain(call)] if ending else []


def _is_given(call: ast.Call) -> bool:
    """Whether a call is given anything, in order or by name: `self(g=graph, state=state)`."""
    return bool(call.args) or any(keyword.arg is not None for keyword in call.keywords)


def _is_a_loss(file: SourceFile, site: Site) -> bool:
    """Whether a call runs a loss of torch's, which has no parameters: it records where its arguments carry a graph."""
    thing = file.value(site.call.func, site).thing
    return thing is not None and thing.kind == "external" and _LOSS.match(thing.dotted) is not None


def _carried(file: SourceFile, site: Site) -> bool:
    """Whether anything that a call is given carries a graph: `with torch.no_grad(): out = model(x)` left none."""
    given = [*site.call.args, *(keyword.value for keyword in site.call.keywords)]
    return any(file.project.grads.of(one, site.frame) is not None or _of_a_forward(site, one) for one in given)


def _of_a_forward(site: Site, given: ast.expr) -> bool:
    """Whether something is a view of what a module of the project gave where gradients are recorded."""
    project, path = site.file.project, site.file.path
    body, node = project.body(path), below(given, _VIEWS)
    while body is not None and isinstance(node, ast.Name):
        bound = body.reaching(site.function, node.id, body.at(node)) or []
        if len(bound) != 1 or bound[0].value is None or body.at(bound[0].value) >= body.at(node):
            return False
        node = below(bound[0].value, _VIEWS)
    if body is None or not isinstance(node, ast.Call) or not project.hotness.grad_mode.records(path, body.at(node)):
        return False
    targets = project.types.targets(path, site.function, chain(node.func))
    return any(project.index.function(key).name == "forward" for key in targets)


def _seldom_seen(file: SourceFile, site: Site, trains: bool) -> Hot | None:
    """Why a call runs often, where the project shows no loop that is known to be hot."""
    return _acting(file, site) or (None if trains else _often(file, site))


def _acting(file: SourceFile, site: Site) -> Hot | None:
    """Why a call runs often in a function that chooses an action for the state it is given."""
    function = file.outline.functions[site.function]
    given = [p.name for p in function.parameters[function.bound :]]
    if not _CHOOSES.search(function.name) or not given or not _STATE.search(given[0]):
        return None
    because = f"`{function.qualname}` (line {function.header_line}) chooses an action {EACH_STEP}"
    when = f"{EACH_STEP} (`{function.qualname}`)"
    return Hot("rollout", because, when, Confidence.LIKELY, file.path, function.header_line)


def _often(file: SourceFile, site: Site) -> Hot | None:
    """Why a call runs often in a script that evaluates: in a loop over inputs, in `main` or outside of functions."""
    name = file.outline.functions[site.function].name
    if name not in ("main", "<module>") or not file.project.hotness.around.turns(file.path, site.record.region):
        return None
    if any(c.function == site.function and last_part(c.callee) == "synchronize" for c in file.outline.calls):
        return None  # who waits for the device there measures it
    regions, number = file.outline.regions, site.record.region
    while number >= 0 and regions[number].kind != "loop":
        number = regions[number].parent
    if number < 0 or not _INPUTS.search(regions[number].detail):
        return None
    because = f"it runs each turn of the loop on line {regions[number].head}, over what is evaluated"
    return Hot("eval", because, EVERY_INPUT, Confidence.LIKELY, file.path, site.record.line)


def _at_once(file: SourceFile, site: Site) -> bool:
    """Whether `.detach()` follows in the same chain of what is known to be a network: thrown_graphs.py asks more."""
    parents = file.enclosing(site.function).parents
    node: ast.AST = site.call
    while (parent := parents.get(node)) is not None:
        if isinstance(parent, ast.Attribute) and parent.attr == "detach":
            return bool(file.project.types.things(file.path, site.function, site.record.callee))
        goes_on = isinstance(parent, ast.Attribute) or (isinstance(parent, ast.Call) and parent.func is node)
        if not goes_on and not (isinstance(parent, ast.Subscript) and parent.value is node):
            return False
        node = parent
    return False
