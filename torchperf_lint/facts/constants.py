"""Values that are the same at every step: literals, what a constructor was given, shapes of tensors."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from weakref import WeakKeyDictionary

from torchperf_lint.facts.attributes import setters
from torchperf_lint.facts.bindings import BlockPath, Definition
from torchperf_lint.facts.bodies import Body
from torchperf_lint.facts.chains import chain, last_part
from torchperf_lint.facts.class_body import assigned_in_class
from torchperf_lint.facts.configured import CONFIGURED, SHAPE, holds_others, setting
from torchperf_lint.facts.gathered import is_empty_list
from torchperf_lint.facts.held import builds, changed_in, held_since_construction
from torchperf_lint.facts.hints import are_numbers, default_of, gives_numbers, is_numeric, numeric_parameter
from torchperf_lint.facts.index import CallSite, FunctionKey, Thing
from torchperf_lint.facts.records import Call, Position
from torchperf_lint.facts.results import argument_of
from torchperf_lint.facts.value import Frame
from torchperf_lint.facts.values import Values
from torchperf_lint.model import Confidence

LITERAL = "literal"

_TENSOR = "tensor"
_ORDER = (LITERAL, CONFIGURED, SHAPE)
_MAX_DEPTH = 16
_MAX_CALLERS = 16
_MAX_HOPS = 6
_LATE = (10**9, 1)
_SIZES = frozenset({"size", "numel", "dim", "ndimension", "nelement"})
_NUMBERS = frozenset(
    "builtins.int builtins.float builtins.max builtins.min builtins.abs builtins.round builtins.sum".split()
)
_FROM_ELSEWHERE = ("numpy.random.", "numpy.load", "numpy.from", "numpy.genfromtxt", "numpy.memmap", "numpy.empty")
"""Functions of numpy's whose result is not that of their arguments alone."""
_OF_A_SEQUENCE = frozenset(
    "builtins.range builtins.list builtins.tuple builtins.sorted builtins.reversed builtins.enumerate "
    "builtins.zip itertools.permutations itertools.product itertools.combinations".split()
)
_CONSTANTS = frozenset(
    f"{module}.{name}" for module in ("math", "numpy", "torch") for name in ("pi", "e", "inf", "nan", "tau")
)
_CONFIGURATION = re.compile(
    r"(?:^|\.)(?:\w*_)?(?:config|cfg|conf|hparams|hyper_?params)(?:\.[a-z_]+){0,2}$|(?:^|\.)_?(?:opts?|args)$|^self\.defaults$",
    re.IGNORECASE,
)
"""Objects that hold settings, by their names, and parts of them: nothing changes those from step to step."""
_KEEP_ARRAYS = frozenset(
    "astype reshape transpose copy flatten ravel squeeze repeat clip tolist sum mean max min dot cumsum".split()
)
"""Methods of an array, or of a list, whose result follows from its numbers alone."""
_VIEWS = frozenset({"values", "keys", "items", "copy"})
"""Methods that give what a container holds."""
_BINDS = frozenset({"assign", "item", "loop", "augmented"})
_KEEP_NUMBERS = frozenset({"append", "sort", "reverse", "pop", "clear"})
"""Of `_CHANGES`, those that put nothing in but what is asked about, too."""
_DRAWS = re.compile(r"rand|sample|shuffle|choice|(?:^|\.)(?:time|next|item|tolist|open|input|load)(?:$|\.)")
"""Calls by which a function gives other numbers each time."""
_CHANGES = ("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "appendleft", "popleft")


def constancy(values: Values, node: ast.expr, frame: Frame, used: Position | None = None) -> str | None:
    """LITERAL, CONFIGURED or SHAPE for a number, or a list of them, that no step changes; None where one may.

    `used`: where the numbers are used in the end, if that is not where they stand.
    """
    return _Look(values, frame, place=used).of(node, 0)


def same_choice(values: Values, node: ast.expr, frame: Frame, used: Position) -> bool:
    """Whether what picks an element, a number, a slice or a key, picks the same one, or ones, at every step."""
    bounds = (node.lower, node.upper, node.step) if isinstance(node, ast.Slice) else (node,)
    look = _Look(values, frame, tests=True, place=used)
    return all(bound is None or look.of(bound, 0) is not None for bound in bounds)


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


_attributes: WeakKeyDictionary[Values, dict[tuple[Thing, str, bool], str | None]] = WeakKeyDictionary()


class _Look:
    """One question, asked in a frame; `bound` are the variables of comprehensions around it."""

    def __init__(
        self,
        values: Values,
        frame: Frame,
        bound: frozenset[str] = frozenset(),
        constructs: bool = False,
        tests: bool = False,
        asked: frozenset[str] = frozenset(),
        place: Position | None = None,
    ) -> None:
        self.values = values
        self.frame = frame
        self.bound = bound
        self.constructs = constructs
        """Whether the code runs once, in a constructor: its parameters are configuration."""
        self.tests = tests
        """Whether numbers are only tested against it: then it need not hold numbers itself."""
        self.asked = asked
        """The names whose bindings are being looked at: what they are made of themselves adds nothing."""
        self.place = frame.at if place is None else place
        self.again = FunctionKey(frame.path, frame.function) not in values.hotness.functions
        """Whether a loop of the function may be what makes steps; what runs at every step loops alike each time."""
        """Where the numbers are used: what changes with each turn of a loop around it is not the same at every step."""

    def inside(self, names: frozenset[str] = frozenset(), tests: bool = False, at: Position | None = None) -> _Look:
        """The same look, among the variables of a comprehension, at what is only compared, or at another place."""
        frame = self.frame if at is None else self.frame._replace(at=at)
        return _Look(
            self.values, frame, self.bound | names, self.constructs, self.tests or tests, self.asked, self.place
        )

    def within(self, scope: int, name: str) -> _Look:
        """A look at what a name of a function around is bound to."""
        inside = scope == self.frame.function
        frame = self.frame if inside else self.frame.hop(self.frame.path, scope, self.frame.at)
        return _Look(self.values, frame, self.bound, self.constructs, self.tests, self.asked | {name}, self.place)

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
        made = self.inside(names).all([node.elt, *(test for g in node.generators for test in g.ifs)], depth)
        return max((over, made), key=_ORDER.index) if made is not None else None

    def test(self, node: ast.Compare, depth: int) -> str | None:
        """`i not in self.ignored`, `i > 0`."""
        return self.inside(tests=True).all((node.left, *node.comparators), depth)

    def item(self, node: ast.Subscript, depth: int) -> str | None:
        """Of a shape any part; of a list only one that no step chooses."""
        if isinstance(node.slice, ast.Constant) and _CONFIGURATION.search(chain(node.value)):
            return CONFIGURED
        base = self.of(node.value, depth + 1)
        if base == SHAPE or base is None:
            return base
        bounds = [node.slice.lower, node.slice.upper, node.slice.step] if isinstance(node.slice, ast.Slice) else []
        index = [b for b in bounds if b is not None] if isinstance(node.slice, ast.Slice) else [node.slice]
        chosen = self.inside(tests=True).all(index, depth) if index else base
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
        if (
            isinstance(node.func, ast.Attribute)
            and node.func.attr in _KEEP_ARRAYS
            and not dotted.endswith(f"numpy.{node.func.attr}")
        ):
            kept = self.values.of(node.func.value, self.frame).kind in ("array", "sequence")
            return self.inside(tests=self.constructs).of(node.func.value, depth + 1) if kept else None
        if dotted.startswith("numpy.") and not dotted.startswith(_FROM_ELSEWHERE) and node.args:
            return self.array(node, depth)
        if dotted in _NUMBERS or dotted in _OF_A_SEQUENCE or chain(node.func) == "slice" or dotted.startswith("math."):
            # `min(values, key=...)` chooses by something else.
            return self.all([*node.args, *(k.value for k in node.keywords)], depth)
        if isinstance(node.func, ast.Attribute) and node.func.attr in _VIEWS and not node.args:
            return self.of(node.func.value, depth + 1)
        return self.helped(node, depth) if not dotted else None

    def array(self, node: ast.Call, depth: int) -> str | None:
        """What numpy makes of its arguments: an array on the host, whatever a constructor was given for it."""
        if not self.constructs:
            return self.all(node.args, depth)
        return CONFIGURED if self.inside(tests=True).all(node.args, depth) is not None else None

    def helped(self, node: ast.Call, depth: int) -> str | None:
        """What a function of the project makes of such numbers, and of names and switches, without drawing any."""
        given = [*node.args, *(k.value for k in node.keywords)]
        targets = self.values.types.targets(self.frame.path, self.frame.function, chain(node.func))
        if not given:
            return self.given_back(targets, depth)
        body = self.values.body(targets[0].path) if len(targets) == 1 else None
        if body is None or self.values.of(node, self.frame).kind not in ("plain", "sequence", "unknown"):
            return None
        if any(_DRAWS.search(callee) for callee in body.callees(targets[0].index)) or not body.returns(
            targets[0].index
        ):
            return None
        inner = _Look(self.values, self.frame, self.bound, self.constructs, True, self.asked)
        kind = inner.all(given, depth)
        return max(kind, CONFIGURED, key=_ORDER.index) if kind is not None else None

    def given_back(self, targets: Sequence[FunctionKey], depth: int) -> str | None:
        """What a method that is given nothing makes of what its object holds."""
        body = self.values.body(targets[0].path) if len(targets) == 1 else None
        if body is None or self.frame.hops > _MAX_HOPS or depth > _MAX_DEPTH // 2:
            return None
        path, function = targets[0]
        returned = body.returns(function)
        looks = [_Look(self.values, self.frame.hop(path, function, body.at(r))).of(r, depth + 1) for r in returned]
        return CONFIGURED if looks and all(looks) else None

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
        if own is None:
            return self.of_record(node, depth)
        held = self.held(own, node.attr) if not self.is_record_of_the_step(own, node.value) else None
        # What a module was built with is the same at every step; what a list takes from it are numbers.
        built = held is None and depth > 0 and held_since_construction(self.values, node, self.frame)
        return CONFIGURED if built else held

    def is_record_of_the_step(self, own: Thing, node: ast.expr) -> bool:
        """Whether an object is a record, with fields alone, that the function makes or takes from what is at hand."""
        body = self.values.body(self.frame.path)
        if not isinstance(node, ast.Name) or body is None or self.values.index.method(own, "__init__") is not None:
            return False
        reaching = body.reaching(self.frame.function, node.id, self.frame.at) or ()
        return any(d.how in _BINDS and not isinstance(d.value, ast.Attribute) for d in reaching)

    def of_record(self, node: ast.Attribute, depth: int) -> str | None:
        """`level.sizes`, of what a loop takes from a list of settings."""
        body = self.values.body(self.frame.path)
        if body is None or not isinstance(node.value, ast.Name):
            return None
        reaching = body.reaching(self.frame.function, node.value.id, self.frame.at)
        if not reaching or any(d.how != "loop" for d in reaching):
            return None
        known = self.inside(tests=True).of(node.value, depth + 1) is not None
        return CONFIGURED if known and self.values.of(node, self.frame).kind not in ("tensor", "batch") else None

    def held(self, own: Thing, name: str) -> str | None:
        """What an attribute of a class is, worked out once: each mention of it asks."""
        known = _attributes.setdefault(self.values, {})
        key = (own, name, self.tests)
        if key not in known:
            known[key] = None  # what it is made of itself tells nothing
            known[key] = self.set_once(own, name)
        return known[key]

    def owner(self, node: ast.expr) -> Thing | None:
        """The class of the project that `self`, or another object, is of."""
        own = self.values.index.class_of(self.frame.path, self.frame.function)
        if own is not None and isinstance(node, ast.Name) and self.values.thing(node, self.frame) == own:
            return own
        value = self.values.of(node, self.frame)
        thing = value.thing if value.kind in ("object", "module") else None
        return Thing("class", thing.path, thing.index) if thing is not None and thing.kind == "instance" else None

    def set_once(self, own: Thing, name: str) -> str | None:
        """`self.name`, where constructors alone set it, or what the project calls from no step, to numbers."""
        found: list[str | None] = []
        if self.is_property_of_numbers(own, name):
            return CONFIGURED
        if any(call.callee in {f"self.{name}.{change}" for change in _CHANGES} for call in self.calls_in(own)):
            return None
        for cls in self.values.index.ancestry(own):
            if cls.kind != "class":
                continue
            if not all(builds(self.values, key) for key in changed_in(self.values, cls, name)):
                return None
            for value in assigned_in_class(self.values, cls, name):
                found.append(self.set_in_constructor(cls.path, 0, value))
            for function, value, buffer in setters(self.values, cls, name):
                if buffer:
                    return None
                if isinstance(value, ast.Constant) and value.value is None:
                    continue  # not there yet
                found.append(self.set_in_constructor(cls.path, function, value))
        return CONFIGURED if all(found) and (found or self.is_field(own, name)) else None

    def is_property_of_numbers(self, own: Thing, name: str) -> bool:
        """Whether a property is annotated to give a list of floating-point numbers: what an object is made with."""
        key = self.values.index.method(own, name)
        if key is None or "property" not in self.values.index.function(key).decorators:
            return False
        body = self.values.body(key.path)
        return body is not None and gives_numbers(body, key.index)

    def is_field(self, own: Thing, name: str) -> bool:
        """Whether a record's field, which no method sets, is annotated to be a number or a list of them."""
        body = self.values.body(own.path)
        field = body.annotated_fields(self.values.index.record(own).line).get(name) if body is not None else None
        return field is not None and is_numeric(field.annotation)

    def calls_in(self, own: Thing) -> list[Call]:
        return self.values.index.outlines[own.path].calls

    def set_in_constructor(self, path: str, function: int, value: ast.expr) -> str | None:
        body = self.values.body(path)
        assert body is not None
        frame = Frame(path, function, body.at(value))
        return _Look(self.values, frame, constructs=True, tests=self.tests).of(value, 0)

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
                found = self.defined(name, reaching, scope, body, depth)
                if is_parameter and found is not None and not _always(body, reaching, scope, at):
                    return self.passed(scope, name, found) if scope == self.frame.function else None
                return found
            if is_parameter:
                if self.constructs:
                    numbers = self.tests or numeric_parameter(body, scope, name)
                    return CONFIGURED if numbers else setting(body, scope, name, at, once=True)
                return self.passed(scope, name) if scope == self.frame.function else None
            scope, at = functions[scope].parent, _LATE
        return LITERAL if name.isupper() and len(name) > 2 else None

    def passed(self, function: int, name: str, instead: str | None = None) -> str | None:
        """What a parameter is that every caller in the project gives what no step changes: sizes, a configuration.

        Where none gives anything, what the default is: numbers that are written there are a configuration. Where what
        is given is not known, what the parameter itself says. `instead` is what the function puts in the place of a
        parameter that was not given.
        """
        key = FunctionKey(self.frame.path, function)
        callers = self.values.hotness.callers.get(key, ())
        body = self.values.body(self.frame.path)
        assert body is not None
        if holds_others(body, function, name, self.frame.at):
            return None
        handed = setting(body, function, name, self.frame.at)
        promised = instead or handed or self.promised(function, name)
        if not callers or len(callers) > _MAX_CALLERS or self.frame.hops > _MAX_HOPS:
            return handed if callers else promised
        record = self.values.index.function(key)
        position = [parameter.name for parameter in record.parameters].index(name) - record.bound
        found = [self.given(site, position, name, promised) for site in callers]
        kinds = [kind for kind in (*found, instead) if kind]
        if None not in found and _TENSOR not in found:
            return max(kinds, key=_ORDER.index) if kinds else None
        tested = body.narrowing(function, name, self.frame.at) is not None
        return handed if tested or _TENSOR not in found else None

    def promised(self, function: int, name: str) -> str | None:
        """CONFIGURED for a parameter whose default is numbers, written out."""
        body = self.values.body(self.frame.path)
        default = default_of(body.functions.get(function), name) if body is not None else None
        return CONFIGURED if default is not None and are_numbers(default) else None

    def given(self, site: CallSite, position: int, name: str, default: str | None) -> str | None:
        """What one call gives a parameter, or what `default` is; _TENSOR for a tensor or an array."""
        call = site.call
        body = self.values.body(site.path)
        node = body.node_of(call) if body is not None else None
        if node is None or any(k.arg is None for k in node.keywords):
            return None
        argument = argument_of(node, position, name)
        if argument is None:
            return default if not any(isinstance(a, ast.Starred) for a in node.args) else None
        frame = self.frame.hop(site.path, call.function, (call.line, call.column))
        kind = _Look(self.values, frame, tests=self.tests).of(argument, 0)
        return kind or (_TENSOR if self.values.of(argument, frame).kind in ("tensor", "batch", "array") else None)

    def defined(self, name: str, reaching: list[Definition], scope: int, body: Body, depth: int) -> str | None:
        """What all bindings of a name are, and all that is put into it: `rows = []`, then `rows.append(i)`."""
        if name in self.asked:
            return LITERAL
        changes = {attribute for attribute, _ in body.uses(scope, name) if attribute in _CHANGES}
        stored = body.stored_items(scope, name)
        around = self.around(body, scope)
        if not changes <= _KEEP_NUMBERS or not _steady(reaching, around) or any(d.how not in _BINDS for d in reaching):
            return None
        filled = [*(body.at(value) for value in stored), *(d.at for d in reaching if d.how == "augmented")]
        if not all(self.fills_alike(body, scope, at, around, depth) for at in filled):
            return None
        if all(_counts(d) for d in reaching):
            return LITERAL
        made = [_element(d) for d in reaching if d.value is not None and not is_empty_list(d.value)]
        inner = self.within(scope, name)
        found = [inner.inside(at=body.at(value)).of(value, depth + 1) for value in (*made, *stored)]
        kinds = [kind for kind in found if kind is not None]
        return max(kinds, key=_ORDER.index) if kinds and len(kinds) == len(found) else None

    def around(self, body: Body, scope: int) -> BlockPath:
        """The blocks around the place of use that may be entered, or turned, otherwise at another step."""
        block = body.block_of(scope, self.place)
        return block if self.again else tuple(part for part in block if part[1] != "loop")

    def fills_alike(self, body: Body, scope: int, at: Position, around: BlockPath, depth: int) -> bool:
        """Whether what stands at a place runs as often at every step: in no branch, and in loops over such numbers."""
        own = [part for part in body.block_of(scope, at) if part not in around]
        if any(branch != "loop" for _, branch in own) or _turns(body.block_of(scope, at), around):
            return False
        over = [body.loop_iterable(scope, line) for line, _ in own]
        inner = self.within(scope, "")
        turned = (n is not None and inner.inside(tests=True, at=body.at(n)).of(n, depth + 1) for n in over)
        return all(turned)

    def is_tensor(self, node: ast.expr, likely: bool = False) -> bool:
        """Whether an expression is a tensor. `likely`: what is unknown counts, as it has what tensors have."""
        return self.values.of(node, self.frame).kind in ("tensor", "batch", "unknown" if likely else "tensor")


def _turns(block: BlockPath, around: BlockPath) -> bool:
    """Whether a loop around one place is around another, too."""
    return any(part[1] == "loop" and part in around for part in block)


def _steady(reaching: list[Definition], around: BlockPath) -> bool:
    """Whether a name is bound alike each time: neither by the turns of a loop around its use nor in some branch."""
    for d in reaching:
        again = _turns(d.block, around)
        if again and (d.how in ("loop", "augmented") or len(reaching) > 1):
            return False
        if len(reaching) > 1 and any(part[1] != "loop" and part not in around for part in d.block):
            return False
    return True


def _counts(definition: Definition) -> bool:
    """Whether a name counts the turns of a loop over anything: `for i, f in enumerate(fs)`, `in range(len(fs))`."""
    over = definition.value
    if definition.how != "loop" or not isinstance(over, ast.Call) or not over.args:
        return False
    callee = last_part(chain(over.func))
    if callee == "range" and len(over.args) == 1 and not definition.index:
        return isinstance(over.args[0], ast.Call) and chain(over.args[0].func) == "len"
    return callee == "enumerate" and definition.index == (0,)


def _element(definition: Definition) -> ast.expr:
    """What a name is bound to, or takes its values from: the one list of several that a loop takes together."""
    over, index = definition.value, definition.index
    assert over is not None
    while definition.how == "loop" and isinstance(over, ast.Call) and index:
        callee, arguments = last_part(chain(over.func)), over.args
        if callee == "zip" and index[0] < len(arguments):
            over, index = arguments[index[0]], index[1:]
        elif callee == "enumerate" and arguments and index[0] == 1:
            over, index = arguments[0], index[1:]
        else:
            break
    return over


def _always(body: Body, reaching: list[Definition], scope: int, at: Position) -> bool:
    """Whether a definition is made on every way to a place; `if kernel is None: kernel = [1]` keeps what is given."""
    around = body.block_of(scope, at)
    return any(around[: len(definition.block)] == definition.block for definition in reaching)


def _parts(node: ast.expr) -> list[ast.expr] | None:
    """What an expression takes its numbers from; None where it is not put together of parts."""
    if isinstance(node, ast.List | ast.Tuple):
        return node.elts
    if isinstance(node, ast.Dict):
        return node.values
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    return [node.value] if isinstance(node, ast.Starred) else None
