"""What is called a network: a module by what it is made of, or by what its owner does with it.

self.critic_target(state)               copied, or asked for its parameters, by the object that holds it
nets.generator(noise)                   one of several that are handed around in a table
self.policy.sample(state)               a method that runs the module it belongs to
self._act(state)                        a method of an agent that calls one of its networks
"""

from __future__ import annotations

import ast
import re

from torchperf_lint.facts.autograd.evaluated_with_grad import model_switches_off
from torchperf_lint.facts.autograd.trainable import holds_layers, is_without_parameters
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.patterns import pattern

_ASKS = frozenset(("parameters", "named_parameters", "load_state_dict"))
_NETWORK = pattern(
    r"^(?:target|tgt)_?(?:\w*(?:net|network|model|critic|actor|policy)|qf?\d?|vf)\w*$|^\w*(?:critic|actor|policy|_net|qf?\d|vf?|"
    r"value)_?(?:target|targ|tgt)\d?$|^(?:qf\d?|vf|policy(?:_net)?|actor(?:_net)?|critic\d?|q_?net\w*|value_?net)$"
)
"""Networks of agents, by their names, where a constructor was given them."""
_GIVEN = pattern(r"^(?:\w+_)?(?:model|net|network|classifier)$")
"""Networks that a function is given, by the names of its parameters."""
_OF_A_TABLE = pattern(
    r"^(?:nets?|networks?|models?)\.(?:generator|discriminator|critic|encoder|decoder|"
    r"\w+_(?:encoder|decoder|network|net))$"
)
"""Networks that a table of networks holds, by their names: `nets.generator`."""
_STEPS_ITSELF = pattern(r"optim|sched|scaler", re.IGNORECASE)
"""What keeps a state and is no module, by its name."""
_RUNS = pattern(
    r"^forward$|^(?:get|select|choose|sample|compute)_(?:\w+_)?actions?$|^act(?:ion)?$|^get_(?:q_?)?values?$"
)
"""Methods of networks that run them, by their names: `self.actor.get_action(state)`."""
_KEEPS = pattern(r"self\.[\w.]+\s*[-+*/]?=[^=]")
"""A forward pass that keeps something, which may be differentiated later."""
_PUTS_AWAY = pattern(r"\.(?:append|extend|push|store|add)\(")
"""The same of a method that is no `forward`: `memory.logprobs.append(...)`."""
_COPIES = frozenset(("copy.deepcopy", "deepcopy"))


def is_plain(call: Call) -> bool:
    """`model(x)`, `self.model(x)`: something that has a name is called itself, by its `forward` too or a method."""
    name = call.callee.removeprefix("self.")
    return name.isidentifier() or name.removesuffix(f".{last_part(name)}").isidentifier()


def runs_a_network(file: SourceFile, site: Site) -> bool:
    """Whether a call runs a module that may have parameters: what only pools or scales records nothing by itself."""
    module = _called(file, site)
    if module is None or not is_network(file, site, module):
        return _by_an_own_method(file, site)
    things = file.project.types.things(file.path, site.function, chain(module))
    return not things or not all(t.kind == "external" and is_without_parameters(t.dotted) for t in things)


def _called(file: SourceFile, site: Site) -> ast.expr | None:
    """The module that a call runs: `net` of `net(x)`, `net.forward(x)`, and of `net.sample(x)` if that runs it."""
    func, written = site.call.func, site.record.callee
    if written.removeprefix("self.").isidentifier() and written != "self.forward":
        return func
    if _OF_A_TABLE.match(written):
        return func
    if not isinstance(func, ast.Attribute):
        return None
    targets = file.project.types.targets(file.path, site.function, written)
    if not targets:
        return func.value if func.attr == "forward" else None
    classes = [file.project.index.class_of(key.path, key.index) for key in targets]
    if not all(c is not None and holds_layers(file.project, c) for c in classes):
        return None
    run_by = file.project.hotness.loops.inference.modules.run_by
    return func.value if _RUNS.search(func.attr) or all(map(run_by, targets)) else None


def _by_an_own_method(file: SourceFile, site: Site) -> bool:
    """Whether a call of a method of the same object, in this file, runs a network that the object holds."""
    if not (site.record.callee.startswith("self.") and site.record.callee.removeprefix("self.").isidentifier()):
        return False
    for key in file.project.types.targets(file.path, site.function, site.record.callee):
        inside = [c for c in file.outline.calls if key.path == file.path and c.function == key.index and is_plain(c)]
        for inner in file.calls_among(inside):
            module = _called(file, inner) if inner.record.callee.startswith("self.") else None
            if module is not None and inner.call.args and is_network(file, inner, module):
                return _leaves_a_graph(file, inner)
    return False


def is_network(file: SourceFile, site: Site, named: ast.expr) -> bool:
    """Whether something is a module: by what it is made of, or because the object asks it for its parameters."""
    value, written = file.value(named, site), chain(named)
    if value.kind != "unknown":
        return value.kind == "module"
    return _has_its_name(written) or _is_given_by_name(file, site, named) or _is_asked(file, site, written)


def only_its_name_tells(file: SourceFile, site: Site) -> bool:
    """Whether nothing but a name says that what a call runs is a network."""
    module = _called(file, site)
    if module is None or file.value(module, site).kind != "unknown":
        return False
    written = chain(module)
    by_name = _has_its_name(written) or _is_given_by_name(file, site, module)
    return by_name and not _is_asked(file, site, written)


def _has_its_name(written: str) -> bool:
    """Whether something is called a network; what it gives is detached, which only a tensor with a graph needs."""
    if not written.startswith("self.") or _STEPS_ITSELF.search(written):
        return _OF_A_TABLE.match(written) is not None
    return _NETWORK.search(last_part(written)) is not None


def _is_given_by_name(file: SourceFile, site: Site, named: ast.expr) -> bool:
    """Whether a function is given something called a model, and has it answer for a tensor: `model(images)`.

    Whoever detaches the answer knows it to carry a graph, as the answer of no other callable does.
    """
    if not isinstance(named, ast.Name) or not _GIVEN.match(named.id):
        return False
    function, body = file.outline.functions[site.function], file.project.body(file.path)
    if body is None or all(p.name != named.id for p in function.parameters) or named is not site.call.func:
        return False
    if body.reaching(site.function, named.id, site.start):
        return False
    alike = [c for c in file.outline.calls if c.function == site.function and c.callee == named.id]
    given = [file.value(one.call.args[0], one) for one in file.calls_among(alike) if one.call.args]
    return any(v.kind == "tensor" for v in given) and all(v.kind in ("tensor", "batch", "unknown") for v in given)


def _is_asked(file: SourceFile, site: Site, written: str) -> bool:
    """Whether an object asks something that it holds for its parameters, or copies what it asks for them."""
    if not written.startswith("self.") or _STEPS_ITSELF.search(written):
        return False
    own = file.outline.functions[site.function].class_index
    asked = (call for call in file.outline.calls if call.callee.rpartition(".")[0] == written)
    return any(
        last_part(call.callee) in _ASKS and file.outline.functions[call.function].class_index == own for call in asked
    ) or _is_copied(file, own, written)


def _is_copied(file: SourceFile, own: int, written: str) -> bool:
    """Whether an object makes a copy of something it asks for its parameters: `self.target_mac = deepcopy(mac)`."""
    body = file.project.body(file.path)
    if body is None or own < 0 or not file.mentions(("deepcopy(",)):
        return False
    for number in file.outline.classes[own].methods.values():
        for name, value, _ in body.self_assignments(number):
            if (
                f"self.{name}" == written
                and isinstance(value, ast.Call)
                and chain(value.func) in _COPIES
                and value.args
            ):
                copied = chain(value.args[0])
                return any(c.callee == f"{copied}.parameters" and c.function == number for c in file.outline.calls)
    return False


def _leaves_a_graph(file: SourceFile, inner: Site) -> bool:
    """Whether a call within a method records gradients, and its forward pass keeps nothing."""
    recorded = file.project.hotness.grad_mode.records(file.path, inner.start)
    return recorded and not model_switches_off(file, inner) and not keeps(file, inner)


def keeps(file: SourceFile, site: Site) -> bool:
    """Whether the forward pass of the model leaves something behind."""
    for key in file.project.types.targets(file.path, site.function, site.record.callee):
        body = file.project.body(key.path)
        record = file.project.index.function(key)
        text = "\n".join(body.lines[record.line - 1 : record.end_line]) if body is not None else ""
        if not text or _KEEPS.search(text) or (record.name != "forward" and _PUTS_AWAY.search(text)):
            return True
    return False
