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

from torchperf_lint.facts.chains import chain, last_part
from torchperf_lint.facts.evaluated_with_grad import model_switches_off
from torchperf_lint.facts.hot import Hot
from torchperf_lint.facts.index import FunctionKey
from torchperf_lint.facts.loop import EVERY_INPUT
from torchperf_lint.facts.records import Call
from torchperf_lint.facts.source import Site, SourceFile
from torchperf_lint.facts.trainable import holds_layers, is_without_parameters, may_freeze
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_ENDS = frozenset(("detach", "argmax", "argmin"))
"""Methods no gradient comes back through."""
_READS = frozenset(("item", "tolist"))
"""Reads: alone they show a loss that somebody forgot to differentiate as well as one that is only shown."""
_PASSES = frozenset(
    "cpu cuda to float half double contiguous clone view reshape squeeze unsqueeze flatten permute transpose t expand "
    "repeat mean sum max min clamp clip exp log sqrt abs pow mul div add sub relu sigmoid tanh softmax log_softmax "
    "gather sort topk chunk split cat stack minimum maximum where squeeze amax amin type type_as expand_as rsample "
    "log_prob entropy".split()
)
_LOOKS = frozenset("shape dtype device ndim size dim numel".split())
_OF_A_DISTRIBUTION = frozenset("mean loc mode probs logits".split())
_ASKS = frozenset(("parameters", "named_parameters", "load_state_dict"))
_NETWORK = pattern(
    r"^(?:target|tgt)_?(?:\w*(?:net|network|model|critic|actor|policy)|qf?\d?|vf)\w*$|^\w*(?:critic|actor|policy|_net|qf?\d|vf?|"
    r"value)_?(?:target|targ|tgt)\d?$|^(?:qf\d?|vf|policy(?:_net)?|actor(?:_net)?|critic\d?|q_?net\w*|value_?net)$"
)
"""Networks of agents, by their names, where a constructor was given them."""
_DISTRIBUTION = pattern(r"^(?:m|pi|\w*dist|\w*distribution|\w*distrib)$")
_DETACHES = pattern(r"(?:(?:cpu|to|float)\([^()]*\)\.)*(?:detach\(\)|data\.)")
"""What may follow the one thing that a helper is given: `x.to("cpu").detach().numpy()`."""
_TO_THE_HOST = pattern(r"(?:^|[._])(?:\w*numpy|to_?np|detach\w*)$")
"""Functions of projects that may detach what they are given, by their names."""
_STEPS_ITSELF = pattern(r"optim|sched|scaler", re.IGNORECASE)
"""What keeps a state and is no module, by its name."""
_FROZEN = pattern(
    r"toggle_grad|set_grad_enabled|jit\.(?:load|trace)|onnx|TensorRT|trt\b|"
    r"register_(?:full_)?(?:forward|backward)\w*_hook|deepspeed|FullyShardedDataParallel|fully_shard"
)
"""Where a graph may not be recorded at all, or switched off out of sight; or where somebody may look into it."""
_WORDS_OF_FROZEN = tuple("toggle_grad set_grad_enabled jit. onnx RT trt hook deepspeed ully".split())
"""One of them is in all that `_FROZEN` finds."""
_RUNS = pattern(
    r"^forward$|^(?:get|select|choose|sample|compute)_(?:\w+_)?actions?$|^act(?:ion)?$|^get_(?:q_?)?values?$"
)
"""Methods of networks that run them, by their names: `self.actor.get_action(state)`."""
_KEEPS = pattern(r"self\.[\w.]+\s*[-+*/]?=[^=]")
"""A forward pass that keeps something, which may be differentiated later."""
_PUTS_AWAY = pattern(r"\.(?:append|extend|push|store|add)\(")
"""The same of a method that is no `forward`: `memory.logprobs.append(...)`."""
_STEPS = 40
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
    """The line where the value is detached first."""


def recorded_for_nobody(file: SourceFile) -> Iterator[Recorded]:
    """The hot calls of modules, outside of all that switches gradients off, whose output is only ever detached."""
    if may_freeze(file.text) or (file.mentions(_WORDS_OF_FROZEN) and _FROZEN.search(file.text)):
        return
    without = ("detach", "argmax", "sample")
    ending = {call.function for call in file.outline.calls if last_part(call.callee) in without}
    ending |= {c.function for c in file.outline.calls if ".data." in c.callee or _TO_THE_HOST.search(c.callee)}
    records = [call for call in file.outline.calls if call.function in ending and _is_plain(call)]
    trains = any(last_part(call.callee) in ("backward", "zero_grad") for call in file.outline.calls)
    for found in file.calls_among(records):
        site = replace(found, hot=_often(file, found)) if found.hot is None and not trains else found
        if site.hot is None or site.hot.kind not in _KINDS or site.hot.optional or not site.call.args:
            continue
        if not file.project.hotness.grad_mode.records(file.path, site.start):
            continue
        ends = _Ways(site).ends() if _is_module(file, site) and not _at_once(file, site) else None
        if ends and not model_switches_off(file, site) and not _keeps(file, site):
            yield Recorded(site, min(ends))


def _often(file: SourceFile, site: Site) -> Hot | None:
    """Why a call runs often in a script that evaluates: in a loop over inputs, in `main` or outside of functions."""
    name = file.outline.functions[site.function].name
    if name not in ("main", "<module>") or not file.project.hotness.turns(file.path, site.record.region):
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


def _is_plain(call: Call) -> bool:
    """`model(x)`, `self.model(x)`: something that has a name is called itself, by its `forward` too or a method."""
    name = call.callee.removeprefix("self.")
    return name.isidentifier() or name.removesuffix(f".{last_part(name)}").isidentifier()


def _called(file: SourceFile, site: Site) -> ast.expr | None:
    """The module that a call runs: `net` of `net(x)`, `net.forward(x)`, and of `net.get_action(x)` if it has that."""
    func, written = site.call.func, site.record.callee
    if written.removeprefix("self.").isidentifier() and written != "self.forward":
        return func
    if not isinstance(func, ast.Attribute):
        return None
    targets = file.project.types.targets(file.path, site.function, written)
    classes = [file.project.index.class_of(key.path, key.index) for key in targets]
    own = bool(classes) and all(c is not None and holds_layers(file.project, c) for c in classes)
    return func.value if own and _RUNS.search(func.attr) else None


def _is_module(file: SourceFile, site: Site) -> bool:
    """Whether a module is called that may have parameters: what only pools or scales records nothing by itself."""
    module = _called(file, site)
    if module is None or not _is_one(file, site, module):
        return False
    things = file.project.types.things(file.path, site.function, chain(module))
    return not things or not all(t.kind == "external" and is_without_parameters(t.dotted) for t in things)


def _is_one(file: SourceFile, site: Site, named: ast.expr) -> bool:
    """Whether something is a module: by what it is made of, or because the object asks it for its parameters."""
    value, written = file.value(named, site), chain(named)
    if value.kind != "unknown" or not written.startswith("self.") or _STEPS_ITSELF.search(written):
        return value.kind == "module"
    if _NETWORK.search(last_part(written)):
        return True  # and what it gives is detached, which only a tensor with a graph needs
    own = file.outline.functions[site.function].class_index
    asked = (call for call in file.outline.calls if call.callee.rpartition(".")[0] == written)
    return any(
        last_part(call.callee) in _ASKS and file.outline.functions[call.function].class_index == own for call in asked
    )


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


def _keeps(file: SourceFile, site: Site) -> bool:
    """Whether the forward pass of the model leaves something behind."""
    for key in file.project.types.targets(file.path, site.function, site.record.callee):
        body = file.project.body(key.path)
        record = file.project.index.function(key)
        text = "\n".join(body.lines[record.line - 1 : record.end_line]) if body is not None else ""
        if not text or _KEEPS.search(text) or (record.name != "forward" and _PUTS_AWAY.search(text)):
            return True
    return False


class _Ways:
    """Follows a value through the function that computes it."""

    def __init__(self, site: Site) -> None:
        self.site, self.file = site, site.file
        self.around = site.file.enclosing(site.function)
        self.lines: set[int] = set()

    def ends(self) -> set[int]:
        """The lines where the value is detached; empty where it goes anywhere else."""
        stack: list[ast.expr] = [self.site.call]
        for _ in range(_STEPS):
            if not stack:
                return self.lines
            then = self._next(stack.pop())
            if then is None:
                return set()
            stack += then
        return set()

    def _next(self, node: ast.expr) -> list[ast.expr] | None:
        """What holds the value next; None where a gradient may be asked for."""
        parent = self.around.parents.get(node)
        if isinstance(parent, ast.keyword):
            parent = self.around.parents.get(parent)
        if isinstance(parent, ast.Attribute):
            return self._of_attribute(parent)
        if isinstance(parent, ast.BinOp | ast.UnaryOp) or (isinstance(parent, ast.IfExp) and node is not parent.test):
            return [parent]
        if isinstance(parent, ast.Subscript) and parent.value is node and isinstance(parent.ctx, ast.Load):
            return [parent]
        if isinstance(parent, ast.Call):
            return self._of_call(parent)
        if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and parent.value is node:
            return self._of_target(parent.targets[0], node)
        return None

    def _of_attribute(self, node: ast.Attribute) -> list[ast.expr] | None:
        if node.attr == "data":
            self.lines.add(node.lineno)
            return []
        if node.attr in _LOOKS:
            return []
        call = self.around.parents.get(node)
        if not isinstance(call, ast.Call) or call.func is not node:
            return [node] if node.attr in _OF_A_DISTRIBUTION else None
        drawn = node.attr == "sample" and self._is_distribution(node.value)
        if node.attr in _ENDS or drawn:
            self.lines.add(call.lineno)
            return []
        return [] if node.attr in _READS else [call] if node.attr in _PASSES else None

    def _of_call(self, call: ast.Call) -> list[ast.expr] | None:
        """The value as an argument: of a function of torch, or of another model."""
        denoted = self.file.denotes(call.func, self.site) or ""
        if denoted.startswith("torch.") and last_part(denoted) in _ENDS:
            self.lines.add(call.lineno)
            return []
        if denoted.startswith("torch.") and last_part(denoted) in _PASSES:
            return [call]
        if denoted.startswith("torch.distributions."):
            return [call]
        if self._is_detached_by(call):
            self.lines.add(call.lineno)
            return []
        named = chain(call.func).removeprefix("self.").isidentifier()
        return [call] if named and _is_one(self.file, self.site, call.func) else None

    def _is_distribution(self, node: ast.expr) -> bool:
        """What draws without a graph: `Categorical(probs).sample()`, `dist.sample()`."""
        if isinstance(node, ast.Call):
            return (self.file.denotes(node.func, self.site) or "").startswith("torch.distributions.")
        if not isinstance(node, ast.Name):
            return False
        body = self.file.project.body(self.file.path)
        made = body.assigned_once(self.site.function, node.id, body.at(node)) if body is not None else None
        return _DISTRIBUTION.search(node.id) is not None or (isinstance(made, ast.Call) and self._is_distribution(made))

    def _is_detached_by(self, call: ast.Call) -> bool:
        """Whether a function of the project detaches the one thing it is given: `to_numpy(action)`."""
        project, callee = self.file.project, chain(call.func)
        targets = project.types.targets(self.file.path, self.site.function, callee) if len(call.args) == 1 else []
        return bool(targets) and all(self._detaches(key) for key in targets)

    def _detaches(self, key: FunctionKey) -> bool:
        body, function = self.file.project.body(key.path), self.file.project.index.function(key)
        given = [parameter.name for parameter in function.parameters[function.bound :]]
        if body is None or not given:
            return False
        returned = [ast.unparse(node) for node in body.returns(key.index)]
        return any(text.startswith(f"{given[0]}.") and _DETACHES.match(text.partition(".")[2]) for text in returned)

    def _of_target(self, target: ast.expr, value: ast.expr) -> list[ast.expr] | None:
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        found: list[ast.expr] = []
        for name in names:
            if not isinstance(name, ast.Name):
                return None
            found += self._uses(name.id, value)
        return found

    def _uses(self, name: str, value: ast.expr) -> list[ast.expr]:
        """Where a name is read that may hold a value then."""
        body = self.file.project.body(self.file.path)
        assert body is not None
        found: list[ast.expr] = []
        for use in body.reads(self.site.function, name):
            reaching = body.reaching(self.site.function, name, body.at(use)) or []
            if any(definition.value is value for definition in reaching):
                found.append(use)
        return found
