"""Does an expression carry an autograd graph, and what shows it.

What `backward` runs on does. So does what a module or a loss computes while gradients are recorded. `.detach()`,
`.item()`, `float()` and what gradients do not pass through (`argmax`, comparisons) end it. Unknown means no.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.effects import backward_target
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.backward_factors import terms
from torchperf_lint.facts.values.results import MODULE_NAME
from torchperf_lint.facts.values.scaled_losses import ends_graph, reaches_backward
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.facts.values.values import Values
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

MAX_HOPS = 8
"""Bindings and calls followed."""
MAX_DEPTH = 20
_NO_GRAPH = ("with", "rest", "rest of each", "other")
"""Ways to bind a name that hand on no graph that is known."""
_END_METHODS = frozenset(
    "detach detach_ item tolist numpy argmax argmin argsort eq ne gt lt ge le long int bool byte short char nonzero "
    "size dim numel backward isnan isinf isfinite any all sign round floor ceil new_tensor new_zeros new_ones keys "
    "gather gather_for_metrics requires_grad_ type_as_string bincount unique bernoulli multinomial "
    "asnumpy asscalar".split()  # MXNet's, whose losses have a `backward` as well
)
_END_ATTRIBUTES = frozenset({"data", "grad", "device", "dtype", *api.PLAIN_ATTRIBUTES})
_END_FUNCTIONS = frozenset(
    "argmax argmin argsort eq ne gt lt ge le nonzero isnan isinf isfinite any all sign round floor ceil tensor "
    "as_tensor from_numpy zeros_like ones_like empty_like rand_like randn_like full_like bincount unique bernoulli "
    "multinomial one_hot searchsorted bucketize".split()
)
_PASSING = frozenset(
    "sum max min abs pow list tuple sorted reversed next iter zip enumerate map filter dict set".split()
)
_FROZEN = pattern(
    r"teacher|target|(?:^|_)ema(?:_|$)|frozen|(?:^|_)old(?:_|$)|(?:^|_)ref(?:erence)?(?:_|$)|vgg|lpips|clip|(?:^|_)vae(?:_|$)|"
    r"text_encoder|pretrained|inception|perceptual|fixed|anchor|metric|accuracy",
    re.IGNORECASE,
)
"""Modules that are often there without gradients of their own."""
_OF_ITS_INPUT = pattern(
    r"loss|criteri|(?:ReLU|GELU|SiLU|ELU|Sigmoid|Softmax|LogSoftmax|Tanh|Softplus|Flatten|Unflatten|Dropout\w*|"
    r"\w*Pool\w*|Upsample|Identity|PixelShuffle|CosineSimilarity|PairwiseDistance)$",
    re.IGNORECASE,
)
"""Modules without parameters: what they compute carries a graph where their input does."""


_LOSS = pattern(r"loss|criteri", re.IGNORECASE)
_LOGGED = pattern(r"(?:^|_)(?:metrics|logs?|log_(?:dict|vars|data|info)|stats|infos?|scalars|extras?|to_log)$")
_METHOD = pattern(r"^_?(?:norm|embed\w*|encode\w*|decode\w*|conv\w*|proj|head|attn|block|layer|module|predictor)$")


class Graph(NamedTuple):
    """That an expression carries a graph."""

    because: str
    confidence: Confidence

    def weaker(self, confidence: Confidence) -> Graph:
        """The same with at most `confidence`."""
        return self if confidence.at_least(self.confidence) else self._replace(confidence=confidence)


class _Call(NamedTuple):
    """The call whose function is looked into: what its parameters were given."""

    node: ast.Call
    frame: Frame


class Backward(NamedTuple):
    """A place that computes gradients."""

    at: Position
    target: ast.expr


class Grads:
    """Answers for one project."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.index = values.index
        self.mode = values.hotness.grad_mode
        self._backwards: dict[FunctionKey, tuple[Backward, ...]] = {}
        self._names: dict[tuple[str, int, str, Position, int], Graph | None] = {}

    def of(self, node: ast.expr, frame: Frame) -> Graph | None:
        """The graph that an expression carries, or None when it carries none or nothing is known."""
        return self._of(node, frame, None)

    def given(self, node: ast.expr, frame: Frame, call: ast.Call, outside: Frame) -> Graph | None:
        """The graph that an expression of a function carries for one call of it, made in the frame `outside`."""
        return self._of(node, frame, _Call(call, outside))

    def backwards(self, key: FunctionKey) -> tuple[Backward, ...]:
        """The places of a function that compute gradients, in order."""
        if key not in self._backwards:
            self._backwards[key] = tuple(self._find_backwards(key))
        return self._backwards[key]

    def _find_backwards(self, key: FunctionKey) -> Iterator[Backward]:
        body = self.values.body(key.path)
        for call in self.index.outlines[key.path].calls:
            if body is None or call.function != key.index or last_part(call.callee) not in _BACKWARD:
                continue
            node = body.node_of(call)
            target = backward_target(node) if node is not None else None
            if target is not None:
                yield Backward((call.line, call.column), target)

    # -- expressions ---------------------------------------------------------------------------------

    def _of(self, node: ast.expr, frame: Frame, caller: _Call | None) -> Graph | None:
        if frame.depth > MAX_DEPTH or frame.hops > MAX_HOPS:
            return None
        frame = frame.deeper()
        if isinstance(node, ast.Name):
            return self._name(node.id, frame, caller) if caller is not None else self._known_name(node.id, frame)
        if isinstance(node, ast.Attribute):
            if node.attr in _END_ATTRIBUTES:
                return None
            return self._backwarded(chain(node), frame) or self._attribute(node, frame, caller)
        if isinstance(node, ast.Subscript):
            return self._backwarded(chain(node), frame) or self._of(node.value, frame, caller)
        if isinstance(node, ast.Call):
            return self._call(node, frame, caller)
        return next((g for g in (self._of(p, frame, caller) for p in _parts(node)) if g is not None), None)

    def _known_name(self, name: str, frame: Frame) -> Graph | None:
        key = (frame.path, frame.function, name, frame.at, frame.hops)
        if key not in self._names:
            self._names[key] = self._name(name, frame, None)
        return self._names[key]

    def _name(self, name: str, frame: Frame, caller: _Call | None) -> Graph | None:
        body = self.values.body(frame.path)
        if body is None:
            return None
        shown = self._backwarded(name, frame)
        if shown is not None:
            return shown
        reaching = body.reaching(frame.function, name, frame.at)
        if reaching is None:
            return self._parameter(name, frame, caller)
        found = [self._definition(d, frame, caller, body) for d in reaching if d.how not in _NO_GRAPH]
        carried = [graph for graph in found if graph is not None]
        if not carried or any(ends_graph(d) for d in reaching):
            return None
        return min(carried, key=lambda graph: graph.confidence.rank)

    def _definition(self, d: Definition, frame: Frame, caller: _Call | None, body: Body) -> Graph | None:
        if d.value is None:
            return None
        place = d.at if d.how == "augmented" else body.at(d.value)
        there = frame.hop(frame.path, frame.function, place)
        if d.how == "loop":
            return self._of(_gone_through(d.value, d.index), there, caller)
        if d.how == "item" and self._is_logged_beside_a_loss(d, there, body):
            return None
        return self._item(d.value, d.index, there, caller) if d.how == "item" else self._of(d.value, there, caller)

    def _item(self, node: ast.expr, index: tuple[int, ...], frame: Frame, caller: _Call | None) -> Graph | None:
        """Of `a, b = value`: the part that is bound."""
        if frame.hops > MAX_HOPS:  # a function may return what it returns itself
            return None
        if isinstance(node, ast.Tuple | ast.List) and len(index) >= 1 and index[0] < len(node.elts):
            part = node.elts[index[0]]
            return self._item(part, index[1:], frame, caller) if index[1:] else self._of(part, frame, caller)
        if isinstance(node, ast.Call):
            if last_part(chain(node.func)) in api.PAIR_METHODS and index[:1] == (1,):
                return None
            targets = self._targets(node, frame)
            if targets:
                return self._returned(targets, node, index, frame)
            if index[:1] > (0,) and self._is_beside_a_loss(node, frame):
                return None
        return self._of(node, frame, caller)

    def _is_beside_a_loss(self, node: ast.Call, frame: Frame) -> bool:
        """`loss, scores = criterion(out, y)` of a criterion that nobody knows: the scores may be numbers to show."""
        named = _LOSS.search(last_part(chain(node.func))) is not None
        return named and self.values.of(node.func, frame.anew()).kind == "unknown"

    def _is_logged_beside_a_loss(self, d: Definition, frame: Frame, body: Body) -> bool:
        """`loss, metrics = model(batch)` of a model that nobody knows, which may have detached what is for the log."""
        made = [d.value.body, d.value.orelse] if isinstance(d.value, ast.IfExp) else [d.value]
        calls = [node for node in made if isinstance(node, ast.Call)]
        if d.index != (1,) or len(calls) < len(made) or any(self._targets(call, frame) for call in calls):
            return False
        names = body.definitions(frame.function)
        return any(_LOGGED.search(name) for name, found in names.items() if d in found)

    def _parameter(self, name: str, frame: Frame, caller: _Call | None) -> Graph | None:
        """What the call that is looked into gave for a parameter."""
        if caller is None:
            return None
        function = self.index.outlines[frame.path].functions[frame.function]
        if all(parameter.name != name for parameter in function.parameters):
            return None
        given = argument_for(caller.node, function, name)
        hops = max(frame.hops, caller.frame.hops) + 1
        return self._of(given, caller.frame._replace(hops=hops), None) if given is not None else None

    def _attribute(self, node: ast.Attribute, frame: Frame, caller: _Call | None) -> Graph | None:
        """`self.loss`, set in the same function; a part of what a model returned."""
        body = self.values.body(frame.path)
        if isinstance(node.value, ast.Name) and body is not None:
            own = self.index.class_of(frame.path, frame.function)
            parameters = self.index.outlines[frame.path].functions[frame.function].parameters
            if own is not None and parameters and parameters[0].name == node.value.id:
                values = [v for name, v, _ in body.self_assignments(frame.function) if name == node.attr]
                there = (frame.hop(frame.path, frame.function, body.at(v)) for v in values)
                found = [self._of(v, f, caller) for v, f in zip(values, there, strict=True)]
                return next((g for g in found if g is not None), None) if all(found) else None
        return self._of(node.value, frame, caller)

    # -- what backward shows -------------------------------------------------------------------------

    def _backwarded(self, written: str, frame: Frame) -> Graph | None:
        """That `backward` runs on the very thing that is read under this name."""
        key = FunctionKey(frame.path, frame.function)
        for place in self.backwards(key):
            names = list(terms(place.target))
            if written in names and self._is_same(written, frame, place.at):
                alone = len(names) == 1
                because = f"`{written}` carries the graph that `backward` runs through (line {place.at[0]})"
                return Graph(because, Confidence.CERTAIN if alone else Confidence.LIKELY)
        return None

    def _is_same(self, written: str, frame: Frame, at: Position) -> bool:
        body = self.values.body(frame.path)
        return body is not None and reaches_backward(body, frame.function, written, frame.at, at)

    # -- calls ---------------------------------------------------------------------------------------

    def _call(self, node: ast.Call, frame: Frame, caller: _Call | None) -> Graph | None:
        name = last_part(chain(node.func))
        if name in _END_METHODS or name in api.PLAIN_BUILTINS:
            return None
        if isinstance(node.func, ast.Name) and name in _PASSING:
            return self._any(node.args[:1], frame, caller)
        thing = self.values.thing(node.func, frame)
        if thing is not None and thing.kind == "external" and "()" not in thing.dotted:
            return self._external(node, thing.dotted, frame, caller)
        targets = self._targets(node, frame)
        own = any(self.index.function(key).name == name for key in targets)  # `self.check_net(x)` names no module
        if targets and (own or not self._is_module(node, frame)):
            return self._returned(targets, node, (), frame)
        if self._is_module(node, frame):
            return self._module(node, frame, caller)
        if name == "scale" and node.args:
            return self._of(node.args[0], frame, caller)
        return self._of(node.func.value, frame, caller) if isinstance(node.func, ast.Attribute) else None

    def _external(self, node: ast.Call, dotted: str, frame: Frame, caller: _Call | None) -> Graph | None:
        """torch's functions of tensors pass gradients on; nothing is known of other packages' functions."""
        if not dotted.startswith("torch.") or last_part(dotted) in _END_FUNCTIONS:
            return None
        if not (dotted.count(".") == 1 or dotted.startswith(api.TENSOR_NAMESPACES)):
            return None
        if not self.mode.records(frame.path, frame.at):
            return None
        return self._any([*node.args[:4], *(k.value for k in node.keywords[:4])], frame, caller)

    def _is_module(self, node: ast.Call, frame: Frame) -> bool:
        kind = self.values.of(node.func, frame.anew()).kind
        if kind not in ("unknown", "tensor"):
            return kind == "module"
        # Nobody calls a tensor: `model.cuda()` alone does not tell the two apart. Methods have names, too: `x.norm()`.
        name = last_part(chain(node.func))
        return bool(MODULE_NAME.search(name)) and not (isinstance(node.func, ast.Attribute) and _METHOD.search(name))

    def _module(self, node: ast.Call, frame: Frame, caller: _Call | None) -> Graph | None:
        """What a module computes carries a graph where gradients are recorded: of its own, or its input's."""
        if not self.mode.records(frame.path, frame.at):
            return None
        written = chain(node.func)
        module = self.values.of(node.func, frame.anew())
        dotted = module.thing.dotted.removesuffix("()") if module.thing is not None else ""
        given = self._any([*node.args[:4], *(k.value for k in node.keywords[:4])], frame, caller)
        if _FROZEN.search(written) or _OF_ITS_INPUT.search(last_part(dotted) or last_part(written)):
            return given
        because = f"`{written}(...)` (line {node.lineno}) computes it while gradients are recorded"
        own = Graph(because, module.confidence if module.kind == "module" else Confidence.LIKELY)
        return own if given is None or not given.confidence.at_least(own.confidence) else given

    def _targets(self, node: ast.Call, frame: Frame) -> list[FunctionKey]:
        return self.values.types.targets(frame.path, frame.function, chain(node.func))

    def _returned(
        self, targets: list[FunctionKey], node: ast.Call, index: tuple[int, ...], frame: Frame
    ) -> Graph | None:
        """What functions of the project return to a call; where several may run, all have to agree."""
        found = [self._returned_by(key, _Call(node, frame), index, frame) for key in targets[:4]]
        first = found[0] if found and all(found) else None
        if first is None:
            return None
        because = f"what `{chain(node.func)}(...)` (line {node.lineno}) returns: {first.because}"
        return Graph(because if frame.path == targets[0].path else first.because, first.confidence)

    def _returned_by(self, key: FunctionKey, call: _Call, index: tuple[int, ...], frame: Frame) -> Graph | None:
        body = self.values.body(key.path)
        if body is None or self.mode.is_off(key, 0) or not self.mode.records(frame.path, frame.at):
            return None
        function = self.index.function(key)
        if function.name == "__init__":
            return None
        found: list[Graph | None] = []
        for node in body.returns(key.index)[:4]:
            there = Frame(key.path, key.index, body.at(node), 0, frame.hops + 2)
            found.append(self._item(node, index, there, call) if index else self._of(node, there, call))
        return found[0] if found and all(found) else None

    def _any(self, nodes: list[ast.expr], frame: Frame, caller: _Call | None) -> Graph | None:
        found = (self._of(node, frame, caller) for node in nodes)
        return next((graph for graph in found if graph is not None), None)


_BACKWARD = frozenset({"backward", "manual_backward", "scale"})


def _gone_through(node: ast.expr, index: tuple[int, ...]) -> ast.expr:
    """Of `for a, b in zip(x, y)` and `for i, a in enumerate(x)`: what the part at `index` is an element of."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args and index:
        name = node.func.id
        if name == "zip" and index[0] < len(node.args):
            node, index = node.args[index[0]], index[1:]
        elif name == "enumerate":
            if index[0] == 0:
                return ast.copy_location(ast.Constant(0), node)
            node, index = node.args[0], index[1:]
        else:
            break
    return node


def _parts(node: ast.expr) -> list[ast.expr]:
    """The parts of an expression that hand their graph to it; in the order of reading."""
    if isinstance(node, ast.BinOp):
        parts: list[ast.expr] = [node.right]
        spine: ast.expr = node.left
        while isinstance(spine, ast.BinOp):
            parts.append(spine.right)
            spine = spine.left
        return [spine, *reversed(parts)]
    if isinstance(node, ast.UnaryOp):
        return [] if isinstance(node.op, ast.Not) else [node.operand]
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return node.elts[:8]
    if isinstance(node, ast.Dict):
        return node.values[:8]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.BoolOp):
        return node.values[:4]
    if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp):
        return [node.elt]
    if isinstance(node, ast.DictComp | ast.NamedExpr | ast.Starred | ast.Await):
        return [node.value]
    return []
