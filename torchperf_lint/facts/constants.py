"""Values that are the same at every step: literals, what a constructor was given, shapes of tensors."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from torchperf_lint.facts.attributes import setters
from torchperf_lint.facts.bindings import Definition
from torchperf_lint.facts.bodies import Body
from torchperf_lint.facts.chains import chain
from torchperf_lint.facts.held import builds, changed_in
from torchperf_lint.facts.hints import are_numbers, default_of, numeric_parameter
from torchperf_lint.facts.index import CallSite, FunctionKey, Thing
from torchperf_lint.facts.records import Call, Position
from torchperf_lint.facts.results import argument_of
from torchperf_lint.facts.value import Frame
from torchperf_lint.facts.values import Values
from torchperf_lint.model import Confidence

LITERAL = "literal"
CONFIGURED = "configured"
"""Set by a constructor and nowhere else."""
SHAPE = "shape"
"""Follows from the shapes of tensors, which the host knows without asking the device."""

_ORDER = (LITERAL, CONFIGURED, SHAPE)
_MAX_DEPTH = 10
_MAX_CALLERS = 6
_MAX_HOPS = 6
_LATE = (10**9, 1)
_SIZES = frozenset({"size", "numel", "dim", "ndimension", "nelement"})
_NUMBERS = frozenset(
    "builtins.int builtins.float builtins.max builtins.min builtins.abs builtins.round builtins.sum".split()
)
_FROM_ELSEWHERE = ("numpy.random.", "numpy.load", "numpy.from", "numpy.genfromtxt", "numpy.memmap", "numpy.empty")
"""Functions of numpy's whose result is not that of their arguments alone."""
_OF_A_SEQUENCE = frozenset(
    "builtins.range builtins.list builtins.tuple builtins.sorted builtins.reversed itertools.permutations "
    "itertools.product itertools.combinations".split()
)
_CONSTANTS = frozenset(
    f"{module}.{name}" for module in ("math", "numpy", "torch") for name in ("pi", "e", "inf", "nan", "tau")
)
_OF_SHAPES = re.compile(r"(?:^|_)(?:shapes?|sizes?|grids?|resolutions?|t?hw)(?:_list)?$")
"""Parameters that hand on the shapes of inputs, as lists of numbers."""
_CONFIGURATION = re.compile(r"(?:^|\.)_?(?:config|cfg|hparams|opts?|hyper_?params)$", re.IGNORECASE)
"""Objects that hold settings, by their names: nothing changes those from step to step."""
_CHANGES = ("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "appendleft", "popleft")


def constancy(values: Values, node: ast.expr, frame: Frame) -> str | None:
    """LITERAL, CONFIGURED or SHAPE for a number, or a list of them, that no step changes; None where one may."""
    return _Look(values, frame).of(node, 0)


def is_configured(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether an expression in a constructor is a number, or a list of them, as far as annotations tell."""
    return _Look(values, frame, constructs=True).of(node, 0) is not None


def repeated(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """`[t] * n`: what is repeated, and how often."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return None
    listed, times = (node.left, node.right) if isinstance(node.left, ast.List) else (node.right, node.left)
    return (listed.elts[0], times) if isinstance(listed, ast.List) and len(listed.elts) == 1 else None


def repeats_one_number(values: Values, node: ast.expr, frame: Frame) -> bool:
    """`[t] * n`: one number, as often as something says."""
    parts = repeated(node)
    if parts is None or values.of(parts[0], frame).kind != "plain":
        return False
    return values.of(parts[1], frame).kind in ("plain", "unknown")  # a list is only multiplied by a number


def repeats_one_tensor(values: Values, node: ast.expr, frame: Frame) -> bool:
    """`[t] * n` of a tensor on the device: each element of the list is read from there by itself."""
    parts = repeated(node)
    if parts is None or isinstance(parts[0], ast.Starred):
        return False
    element = values.of(parts[0], frame)
    return element.kind == "tensor" and element.on_device and element.confidence is not Confidence.POSSIBLE


class _Look:
    """One question, asked in a frame; `bound` are the variables of comprehensions around it."""

    def __init__(
        self,
        values: Values,
        frame: Frame,
        bound: frozenset[str] = frozenset(),
        constructs: bool = False,
        tests: bool = False,
    ) -> None:
        self.values = values
        self.frame = frame
        self.bound = bound
        self.constructs = constructs
        """Whether the code runs once, in a constructor: its parameters are configuration."""
        self.tests = tests
        """Whether numbers are only tested against it: then it need not hold numbers itself."""

    def of(self, node: ast.expr, depth: int) -> str | None:
        if depth > _MAX_DEPTH:
            return None
        if isinstance(node, ast.Constant):
            return LITERAL if self.tests or isinstance(node.value, int | float | complex) else None
        parts = _parts(node)
        if parts is not None:
            return self.all(parts, depth)
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            return self.comprehension(node, depth)
        if isinstance(node, ast.Subscript):
            return self.item(node, depth)
        if isinstance(node, ast.Compare):
            return self.test(node, depth)
        if isinstance(node, ast.Call):
            return self.call(node, depth)
        if isinstance(node, ast.Attribute):
            return self.attribute(node, depth)
        return self.name(node.id, depth) if isinstance(node, ast.Name) else None

    def all(self, nodes: Iterable[ast.expr], depth: int) -> str | None:
        found = [self.of(node, depth + 1) for node in nodes]
        known = [kind for kind in found if kind is not None]
        return max(known, key=_ORDER.index) if known and len(known) == len(found) else None

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp, depth: int) -> str | None:
        names = frozenset(n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name))
        over = self.all([g.iter for g in node.generators], depth)
        if over is None:
            return None
        inner = _Look(self.values, self.frame, self.bound | names, self.constructs, self.tests)
        made = inner.all([node.elt, *(test for g in node.generators for test in g.ifs)], depth)
        return max((over, made), key=_ORDER.index) if made is not None else None

    def test(self, node: ast.Compare, depth: int) -> str | None:
        """`i not in self.ignored`, `i > 0`."""
        inner = _Look(self.values, self.frame, self.bound, self.constructs, tests=True)
        return inner.all((node.left, *node.comparators), depth)

    def item(self, node: ast.Subscript, depth: int) -> str | None:
        """Of a shape any part; of a list only one that no step chooses."""
        base = self.of(node.value, depth + 1)
        if base == SHAPE or base is None:
            return base
        bounds = [node.slice.lower, node.slice.upper, node.slice.step] if isinstance(node.slice, ast.Slice) else []
        index = [b for b in bounds if b is not None] if isinstance(node.slice, ast.Slice) else [node.slice]
        chosen = self.all(index, depth) if index else base
        return max((base, chosen), key=_ORDER.index) if chosen is not None else None

    def call(self, node: ast.Call, depth: int) -> str | None:
        thing = self.values.thing(node.func, self.frame)
        dotted = thing.dotted if thing is not None and thing.kind == "external" else ""
        if dotted == "builtins.len" and len(node.args) == 1:
            return SHAPE if self.is_tensor(node.args[0]) else self.of(node.args[0], depth + 1)
        if dotted == "builtins.float" and len(node.args) == 1 and isinstance(node.args[0], ast.Constant):
            return LITERAL
        if dotted == "torch.numel" and len(node.args) == 1:
            return SHAPE if self.is_tensor(node.args[0]) else None
        if isinstance(node.func, ast.Attribute) and node.func.attr in _SIZES:
            return SHAPE if self.is_tensor(node.func.value) else None
        if dotted.startswith("numpy.") and not dotted.startswith(_FROM_ELSEWHERE) and node.args:
            return self.all(node.args, depth)
        if dotted in _NUMBERS or dotted in _OF_A_SEQUENCE or dotted.startswith("math."):
            return self.all(node.args, depth)
        return None

    def attribute(self, node: ast.Attribute, depth: int) -> str | None:
        if node.attr in ("shape", "ndim"):
            return SHAPE if self.is_tensor(node.value, node.attr == "shape") else None
        thing = self.values.thing(node, self.frame)
        if thing is not None and thing.kind == "external" and thing.dotted in _CONSTANTS:
            return LITERAL
        if _CONFIGURATION.search(chain(node.value)):
            return CONFIGURED if self.values.of(node, self.frame).kind not in ("tensor", "batch", "array") else None
        if node.attr.isupper() and len(node.attr) > 2:
            return LITERAL
        own = self.owner(node.value)
        return self.set_once(own, node.attr, depth) if own is not None else None

    def owner(self, node: ast.expr) -> Thing | None:
        """The class of the project that `self`, or another object, is of."""
        own = self.values.index.class_of(self.frame.path, self.frame.function)
        if own is not None and isinstance(node, ast.Name) and self.values.thing(node, self.frame) == own:
            return own
        value = self.values.of(node, self.frame)
        thing = value.thing if value.kind in ("object", "module") else None
        return Thing("class", thing.path, thing.index) if thing is not None and thing.kind == "instance" else None

    def set_once(self, own: Thing, name: str, depth: int) -> str | None:
        """`self.name`, where constructors alone set it, or what the project calls from no step, to numbers."""
        found: list[str | None] = []
        if any(call.callee in {f"self.{name}.{change}" for change in _CHANGES} for call in self.calls_in(own)):
            return None
        for cls in self.values.index.ancestry(own):
            if cls.kind != "class":
                continue
            if not all(builds(self.values, key) for key in changed_in(self.values, cls, name)):
                return None
            for function, value, buffer in setters(self.values, cls, name):
                if buffer:
                    return None
                if isinstance(value, ast.Constant) and value.value is None:
                    continue  # not there yet
                found.append(self.set_in_constructor(cls.path, function, value, depth))
        return CONFIGURED if found and all(found) else None

    def calls_in(self, own: Thing) -> list[Call]:
        return self.values.index.outlines[own.path].calls

    def set_in_constructor(self, path: str, function: int, value: ast.expr, depth: int) -> str | None:
        body = self.values.body(path)
        assert body is not None
        frame = self.frame.hop(path, function, body.at(value))
        return _Look(self.values, frame, constructs=True, tests=self.tests).of(value, depth + 1)

    def name(self, name: str, depth: int) -> str | None:
        if name in self.bound:
            return LITERAL
        body = self.values.body(self.frame.path)
        functions = self.values.index.outlines[self.frame.path].functions
        scope, at = self.frame.function, self.frame.at
        while body is not None and scope >= 0:
            reaching = body.reaching(scope, name, at)
            is_parameter = any(parameter.name == name for parameter in functions[scope].parameters)
            if reaching or (reaching is not None and not is_parameter):
                changed = any(attribute in _CHANGES for attribute, _ in body.uses(scope, name))
                filled = changed or bool(body.stored_items(scope, name))
                found = None if filled else self.defined(reaching, scope, body, depth)
                if is_parameter and found is not None and not _always(body, reaching, scope, at):
                    return self.passed(scope, name, found) if scope == self.frame.function else None
                return found
            if is_parameter:
                if self.constructs:
                    return CONFIGURED if self.tests or numeric_parameter(body, scope, name) else None
                return self.passed(scope, name) if scope == self.frame.function else None
            scope, at = functions[scope].parent, _LATE
        return LITERAL if name.isupper() and len(name) > 2 else None

    def passed(self, function: int, name: str, instead: str | None = None) -> str | None:
        """What a parameter is that every caller in the project gives what no step changes: sizes, a configuration.

        Where none gives anything, what the default is: numbers that are written there are a configuration. `instead`
        is what the function puts in the place of a parameter that was not given.
        """
        key = FunctionKey(self.frame.path, function)
        callers = self.values.hotness.callers.get(key, ())
        promised = instead or self.promised(function, name)
        if not callers or len(callers) > _MAX_CALLERS or self.frame.hops > _MAX_HOPS:
            return None if callers else promised
        record = self.values.index.function(key)
        position = [parameter.name for parameter in record.parameters].index(name) - record.bound
        found = [self.given(site, position, name) for site in callers]
        given = [kind for kind in (*found, promised if "" in found else instead) if kind]
        return max(given, key=_ORDER.index) if given and None not in found else None

    def promised(self, function: int, name: str) -> str | None:
        """CONFIGURED for a parameter whose default is numbers, written out; SHAPE for one that is a list of sizes."""
        body = self.values.body(self.frame.path)
        if body is None:
            return None
        default = default_of(body.functions.get(function), name)
        if default is not None and are_numbers(default):
            return CONFIGURED
        return SHAPE if _OF_SHAPES.search(name) and numeric_parameter(body, function, name) else None

    def given(self, site: CallSite, position: int, name: str) -> str | None:
        """What one call gives a parameter; empty where it leaves it to the default."""
        call = site.call
        body = self.values.body(site.path)
        node = body.node_of(call) if body is not None else None
        if node is None or any(k.arg is None for k in node.keywords):
            return None
        argument = argument_of(node, position, name)
        if argument is None:
            return "" if not any(isinstance(a, ast.Starred) for a in node.args) else None
        frame = self.frame.hop(site.path, call.function, (call.line, call.column))
        return _Look(self.values, frame, tests=self.tests).of(argument, 0)

    def defined(self, reaching: list[Definition], scope: int, body: Body, depth: int) -> str | None:
        if len(reaching) != 1 or reaching[0].value is None or reaching[0].how not in ("assign", "item"):
            return None
        value = reaching[0].value
        frame = self.frame.hop(self.frame.path, scope, body.at(value))
        inner = _Look(self.values, frame, self.bound, self.constructs, self.tests)
        return inner.of(value, depth + 1)

    def is_tensor(self, node: ast.expr, likely: bool = False) -> bool:
        """Whether an expression is a tensor. `likely`: what is unknown counts, as it has what tensors have."""
        return self.values.of(node, self.frame).kind in ("tensor", "batch", "unknown" if likely else "tensor")


def _always(body: Body, reaching: list[Definition], scope: int, at: Position) -> bool:
    """Whether a definition is made on every way to a place; `if kernel is None: kernel = [1]` keeps what is given."""
    around = body.block_of(scope, at)
    return any(around[: len(definition.block)] == definition.block for definition in reaching)


def _parts(node: ast.expr) -> list[ast.expr] | None:
    """What an expression takes its numbers from; None where it is not put together of parts."""
    if isinstance(node, ast.List | ast.Tuple):
        return node.elts
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    return [node.value] if isinstance(node, ast.Starred) else None
