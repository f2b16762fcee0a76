"""Values that are the same at every step: literals, what a constructor was given, shapes of tensors."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from torchperf_lint.facts.bindings.bindings import BlockPath, Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.bound_alike import (
    BINDS,
    bound_alike,
    bound_on_every_way,
    branches_of_all,
    counts_turns,
    sources,
    turns_with,
    written_out,
)
from torchperf_lint.facts.bindings.gathered import given_to
from torchperf_lint.facts.bindings.hints import are_numbers, default_of, numeric_parameter
from torchperf_lint.facts.bindings.put_into import places, put_below, written_into
from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.constants.bound_to_moved import bound_to_moved
from torchperf_lint.facts.constants.chosen_lists import chooses_lists
from torchperf_lint.facts.constants.configured import (
    CONFIGURED,
    GIVEN,
    LITERAL,
    SHAPE,
    holds_others,
    is_mode,
    loosest,
    setting,
    unpacks_settings,
)
from torchperf_lint.facts.constants.constant_attributes import of_attribute, of_entry
from torchperf_lint.facts.constants.constant_calls import of_call, part_given_back
from torchperf_lint.facts.constants.filled_arrays import is_drawn_into
from torchperf_lint.facts.constants.held import LIST_CHANGES
from torchperf_lint.facts.constants.inside_steps import without_loops_inside
from torchperf_lint.facts.constants.listed_shapes import filled_with_sides, lists_sides
from torchperf_lint.facts.constants.put_together import elements_of, parts_put_together
from torchperf_lint.facts.constants.steady_branches import decided_alike
from torchperf_lint.facts.outlines.records import END_OF_FILE, Function, Position
from torchperf_lint.facts.syntax.arguments import unpacks_keywords
from torchperf_lint.facts.syntax.syntax import names_of
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.facts.values.values import Values

_TENSOR = "tensor"
_MAX_DEPTH = 20
_MAX_CALLERS = 16
_MAX_HOPS = 6
_MAX_NAMES = 300
"""Names looked up for one question; those with an answer need far fewer as a rule."""
_KEEP_NUMBERS = frozenset({"append", "extend", "remove", "sort", "reverse", "pop", "clear"})
"""Of `LIST_CHANGES`, those that put nothing in but what is asked about, too."""


def constancy(values: Values, node: ast.expr, frame: Frame, used: Position | None = None) -> str | None:
    """LITERAL, CONFIGURED, SHAPE or GIVEN for numbers that no step changes, as far as is seen; None where one may.

    `used`: where the numbers are used in the end, if that is not where they stand.
    """
    return Look(values, frame, place=used).of(node, 0)


def same_choice(values: Values, node: ast.expr, frame: Frame, used: Position) -> bool:
    """Whether what picks an element, a number, a slice or a key, picks the same one, or ones, at every step."""
    bounds = (node.lower, node.upper, node.step) if isinstance(node, ast.Slice) else (node,)
    look = Look(values, frame, tests=True, place=used)
    return all(bound is None or look.of(bound, 0) is not None for bound in bounds)


def is_configured(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether an expression in a constructor is a number, or a list of them, as far as annotations tell."""
    return Look(values, frame, constructs=True).of(node, 0) is not None


class Names:
    """How many names one question may look up: where each is made of several others, ways to them double and double."""

    def __init__(self) -> None:
        self.left = _MAX_NAMES

    def another(self) -> bool:
        """Whether one more may be looked up."""
        self.left -= 1
        return self.left >= 0


class Look:
    """One question, asked in a frame; `bound` are the variables of comprehensions around it."""

    def __init__(
        self,
        values: Values,
        frame: Frame,
        bound: frozenset[str] = frozenset(),
        constructs: bool = False,
        tests: bool = False,
        asked: frozenset[Position] = frozenset(),
        place: Position | None = None,
        names: Names | None = None,
    ) -> None:
        self.values = values
        self.frame = frame
        self.bound = bound
        self.constructs = constructs
        """Whether the code runs once, in a constructor: its parameters are configuration."""
        self.tests = tests
        """Whether numbers are only tested against it: then it need not hold numbers itself."""
        self.asked = asked
        """Where the bindings stand that are being looked at: what they are made of themselves adds nothing."""
        self.again = FunctionKey(frame.path, frame.function) not in values.hotness.functions
        """Whether a loop of the function may be what makes steps; what runs at every step loops alike each time."""
        self.place = frame.at if place is None else place
        """Where the numbers are used: what changes with each turn of a loop around it is not the same at every step."""
        self.names = names or Names()
        """How many names may still be looked up for this question."""

    def inside(self, names: frozenset[str] = frozenset(), tests: bool = False, at: Position | None = None) -> Look:
        """The same look, among the variables of a comprehension, at what is only compared, or at another place."""
        frame = self.frame if at is None else self.frame._replace(at=at)
        return Look(
            self.values,
            frame,
            self.bound | names,
            self.constructs,
            self.tests or tests,
            self.asked,
            self.place,
            self.names,
        )

    def used_here(self) -> Look:
        """The same look, at what is only tested, and used where it stands."""
        return Look(self.values, self.frame, self.bound, self.constructs, True, self.asked, names=self.names)

    def elsewhere(self, frame: Frame, tests: bool = False, constructs: bool = False) -> Look:
        """A look into another function, where names mean others."""
        return Look(self.values, frame, constructs=constructs, tests=tests, names=self.names)

    def may_go_into(self, depth: int) -> bool:
        """Whether what another function returns is near enough to be looked at."""
        return self.frame.hops <= _MAX_HOPS and depth <= _MAX_DEPTH // 2

    def within(self, scope: int, asked: frozenset[Position] = frozenset()) -> Look:
        """A look at what a name of a function around is bound to; `asked`: the places of these bindings."""
        inside = scope == self.frame.function
        frame = self.frame if inside else self.frame.hop(self.frame.path, scope, self.frame.at)
        asked |= self.asked
        return Look(self.values, frame, self.bound, self.constructs, self.tests, asked, self.place, self.names)

    def of(self, node: ast.expr, depth: int) -> str | None:
        """What an expression is, LITERAL, CONFIGURED, SHAPE or GIVEN; None where a step may change it."""
        if depth > _MAX_DEPTH:
            return None
        if isinstance(node, ast.Constant):
            return LITERAL if self.tests or isinstance(node.value, int | float | complex) else None
        parts = parts_put_together(node)
        if parts is not None:
            return self.all(parts, depth)
        if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.DictComp):
            return self.comprehension(node, depth)
        if isinstance(node, ast.Subscript):
            return self.item(node, depth)
        if isinstance(node, ast.Compare):
            return self.test(node, depth)
        if isinstance(node, ast.Call):
            return of_call(self, node, depth)
        if isinstance(node, ast.Attribute):
            return of_attribute(self, node, depth)
        return self.name(node.id, depth) if isinstance(node, ast.Name) else None

    def all(self, nodes: Iterable[ast.expr], depth: int) -> str | None:
        """What is made of several expressions; None where a step may change one of them."""
        found = []
        for node in nodes:
            kind = self.of(node, depth + 1)
            if kind is None:
                return None
            found.append(kind)
        return loosest(found) if found else None

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.DictComp, depth: int) -> str | None:
        """A list or table of the same numbers, where its elements are made of those of lists that stay the same."""
        names, kinds = frozenset[str](), []
        for generator in node.generators:  # a later one may go over what an earlier one names
            over = self.inside(names).of(generator.iter, depth + 1)
            if over is None:
                return SHAPE if not isinstance(node, ast.DictComp) and lists_sides(self, node) else None
            kinds.append(over)
            names |= names_of(generator.target)
        parts = [*elements_of(node), *(test for g in node.generators for test in g.ifs)]
        made = self.inside(names).all(parts, depth) if parts else loosest(kinds)
        return loosest([*kinds, made]) if made is not None else None

    def test(self, node: ast.Compare, depth: int) -> str | None:
        """`i not in self.ignored`, `i > 0`."""
        return self.inside(tests=True).all((node.left, *node.comparators), depth)

    def item(self, node: ast.Subscript, depth: int) -> str | None:
        """Of a shape any part; of a list only one that no step chooses."""
        named = of_entry(self, node)
        if named is not None:
            return named
        base = self.of(node.value, depth + 1)
        if base == SHAPE or base is None:
            return base
        bounds = [node.slice.lower, node.slice.upper, node.slice.step] if isinstance(node.slice, ast.Slice) else []
        index = [b for b in bounds if b is not None] if isinstance(node.slice, ast.Slice) else [node.slice]
        if base == LITERAL and len(index) == 1 and isinstance(index[0], ast.Name):
            body = self.values.body(self.frame.path)
            if body is not None and is_mode(body, self.frame.function, index[0].id):
                return LITERAL  # `KERNELS[mode]`: whichever it is, its numbers stand there
        chosen = self.inside(tests=True).all(index, depth) if index else base
        return loosest([base, chosen]) if chosen is not None else None

    def name(self, name: str, depth: int) -> str | None:
        """What a variable is, or a parameter, of this function or of one around it."""
        if name in self.bound:
            return LITERAL
        if not self.names.another():
            return None
        body = self.values.body(self.frame.path)
        functions = self.values.index.outlines[self.frame.path].functions
        scope, at = self.frame.function, self.frame.at
        while body is not None and scope >= 0:
            reaching = body.reaching(scope, name, at)
            is_parameter = any(parameter.name == name for parameter in functions[scope].parameters)
            if reaching or (reaching is not None and not is_parameter):
                found = self.defined(name, reaching, scope, body, depth)
                if is_parameter and found is not None and not bound_on_every_way(body, reaching, scope, at):
                    return self.passed(scope, name, found) if scope == self.frame.function else None
                return found
            if is_parameter:
                if self.constructs:
                    numbers = self.tests or numeric_parameter(body, scope, name)
                    return CONFIGURED if numbers else setting(body, scope, name, at, once=True)
                return self.passed(scope, name) if scope == self.frame.function else None
            scope, at = functions[scope].parent, END_OF_FILE
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
            return _unseen(handed if callers else promised)
        record = self.values.index.function(key)
        found = []
        for site in callers:
            found.append(self.given(site, record, name, promised))
            if found[-1] is None and handed is None:
                return None  # whatever the others give
        kinds = [kind for kind in (*found, instead) if kind]
        if None not in found and _TENSOR not in found:
            return loosest(kinds) if kinds else None
        tested = body.narrowing(function, name, self.frame.at)
        if tested is not None and not tested.holds and "Tensor" in tested.classes and not set(kinds) - {_TENSOR}:
            return None  # the branch for what is no tensor: no caller is known to take it
        if set(found) == {_TENSOR} and tested is not None and tested.holds:
            return None  # the branch for numbers: every caller gives a tensor
        return _unseen(handed) if tested is not None or _TENSOR not in found else None

    def promised(self, function: int, name: str) -> str | None:
        """CONFIGURED for a parameter whose default is numbers, written out or in a table of the module."""
        body = self.values.body(self.frame.path)
        default = default_of(body.functions.get(function), name) if body is not None else None
        if isinstance(default, ast.Name) and self.may_go_into(0):
            outside = self.elsewhere(self.frame.hop(self.frame.path, 0, END_OF_FILE))
            return CONFIGURED if outside.of(default, 1) is not None else None
        return CONFIGURED if default is not None and are_numbers(default) else None

    def given(self, site: CallSite, function: Function, name: str, default: str | None) -> str | None:
        """What one call gives a parameter, or what `default` is; _TENSOR for a tensor or an array."""
        call = site.call
        node = call_at(self.values, site)
        if node is None:
            return None
        argument = argument_for(node, function, name)
        if argument is None and unpacks_keywords(node):
            return self.promised(self.frame.function, name) if unpacks_settings(node) else None
        if argument is None:
            return default if not any(isinstance(a, ast.Starred) for a in node.args) else None
        frame = self.frame.hop(site.path, call.function, (call.line, call.column))
        kind = self.elsewhere(frame, self.tests).of(argument, 0)
        if kind is None and self.values.of(argument, frame).kind in ("tensor", "batch", "array"):
            return _TENSOR
        body = self.values.body(site.path)
        moved = body is not None and bound_to_moved(body, argument, frame)
        return kind or (_TENSOR if moved or self.elsewhere(frame).hands_on_tensors(argument) else None)

    def hands_on_tensors(self, node: ast.expr) -> bool:
        """Whether an argument is a parameter of the function it stands in, and every caller of that gives a tensor."""
        key = FunctionKey(self.frame.path, self.frame.function)
        record, body = self.values.index.function(key), self.values.body(self.frame.path)
        if body is None or not isinstance(node, ast.Name) or all(p.name != node.id for p in record.parameters):
            return False
        callers = self.values.hotness.callers.get(key, ())
        if not 0 < len(callers) <= _MAX_CALLERS or self.frame.hops > _MAX_HOPS:
            return False
        bound = body.reaching(self.frame.function, node.id, self.frame.at)
        return not bound and all(self.given(site, record, node.id, None) == _TENSOR for site in callers)

    def defined(self, name: str, reaching: list[Definition], scope: int, body: Body, depth: int) -> str | None:
        """What all bindings of a name are, and all that is put into it: `rows = []`, then `rows.append(i)`."""
        if all(d.at in self.asked for d in reaching):
            return LITERAL
        changes = {attribute for attribute, _ in body.uses(scope, name) if attribute in LIST_CHANGES}
        stored = body.stored_items(scope, name)
        if "extend" in changes:
            stored = [*stored, *given_to(body, scope, name, "extend")]
        stored = [*stored, *put_below(body, scope, name)]
        around = self.around(body, scope)
        bound = all(d.how in BINDS for d in reaching) and not is_drawn_into(body, scope, name, reaching)
        if not changes <= _KEEP_NUMBERS or not bound:
            return None
        removed = given_to(body, scope, name, "remove") if "remove" in changes else ()
        if written_out(reaching) and not stored and not changes:
            return LITERAL  # whichever branch was taken, numbers that stand there: each could be kept
        alike = bound_alike(reaching, around) or decided_alike(self, body, scope, reaching, around)
        if not alike and (self.tests or not chooses_lists(self.values, reaching, self.within(scope).frame)):
            return None
        if stored and not self.places_alike(body, scope, name, reaching, depth):
            return None
        filled = [*(body.at(value) for value in (*stored, *removed)), *(d.at for d in reaching if d.how == "augmented")]
        within = (*around, *branches_of_all(reaching))
        if not all(self.fills_alike(body, scope, at, within, depth) for at in filled):
            return SHAPE if filled_with_sides(self, body, scope, reaching, tuple(stored)) else None
        if all(counts_turns(d) for d in reaching):
            return LITERAL
        inner = self.within(scope, frozenset(d.at for d in reaching))
        found = [inner.inside(at=body.at(value)).of(value, depth + 1) for value in (*sources(reaching), *stored)]
        found += [inner.inside(tests=True, at=body.at(value)).of(value, depth + 1) for value in removed]
        kinds = [kind for kind in found if kind is not None]
        if kinds and len(kinds) == len(found):
            return loosest(kinds)
        return None if stored or changes else part_given_back(self, reaching, depth)

    def around(self, body: Body, scope: int) -> BlockPath:
        """The blocks around the place of use that may be entered, or turned, otherwise at another step."""
        block = body.block_of(scope, self.place)
        if self.again:
            return without_loops_inside(self.values, self.frame.path, self.place, block)
        return tuple(part for part in block if part[1] != "loop")

    def fills_alike(self, body: Body, scope: int, at: Position, around: BlockPath, depth: int) -> bool:
        """Whether what stands at a place runs as often at every step: in no branch, and in loops over such numbers."""
        own = [part for part in body.block_of(scope, at) if part not in around]
        if any(branch != "loop" for _, branch in own) or turns_with(body.block_of(scope, at), around):
            return False
        over = [body.loop_iterable(scope, line) for line, _ in own]
        inner = self.within(scope)
        turned = (n is not None and inner.inside(tests=True, at=body.at(n)).of(n, depth + 1) for n in over)
        return all(turned)

    def places_alike(self, body: Body, scope: int, name: str, reaching: list[Definition], depth: int) -> bool:
        """Whether what is put into an array is put where no step chooses: not `one_hot[i, tokens[i]] = 1`."""
        inner = self.within(scope, frozenset(d.at for d in reaching))
        if not any(self.values.of(value, inner.frame).kind == "array" for value in sources(reaching)):
            return True
        where = [place for target, _ in written_into(body, scope, name) for place in places(target)]
        return all(inner.inside(tests=True, at=body.at(place)).of(place, depth + 1) is not None for place in where)

    def is_tensor(self, node: ast.expr, likely: bool = False) -> bool:
        """Whether an expression is a tensor. `likely`: what is unknown counts, as it has what tensors have."""
        return self.values.of(node, self.frame).kind in ("tensor", "batch", "unknown" if likely else "tensor")


def _unseen(kind: str | None) -> str | None:
    """What a parameter says of itself, where the calls are not seen, or not what they give."""
    return GIVEN if kind == CONFIGURED else kind
