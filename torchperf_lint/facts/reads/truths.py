"""Where Python asks an expression for its truth: tests of `if`, `while`, `assert`, operands of `not`, `and`, `or`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for
from torchperf_lint.facts.constants.tracing import parts_of
from torchperf_lint.facts.element_loops.repeated import may_run_often
from torchperf_lint.facts.files.looks import may_be_tensor
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.files.spots import Spot, hot_functions, hot_nodes, looped_nodes, spot_at
from torchperf_lint.facts.reads.truth_helpers import answers_with_a_truth
from torchperf_lint.facts.roles.cold import is_kernel
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_text
from torchperf_lint.patterns import pattern

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_ASKING = (ast.If, ast.While, ast.Assert, ast.IfExp, ast.BoolOp, ast.UnaryOp, *_COMPREHENSIONS)
_PREDICATES = frozenset(
    "any all isnan isinf isfinite eq ne gt lt ge le greater less greater_equal less_equal logical_and logical_or "
    "logical_not logical_xor isin bool sum max min amax amin count_nonzero equal allclose is_nonzero".split()
)
"""What a call is called that can give a tensor with one truth value."""
_ASKS = pattern(r"^_?(?:is|has|are|all|any|check)_[a-z_]+$")
"""What a function is called that answers with a truth value, be that a tensor."""
_IDENTITY = (ast.Is, ast.IsNot, ast.In, ast.NotIn)


def truths(file: SourceFile) -> tuple[Spot, ...]:
    """The hot expressions that are asked for their truth, in order; what does not look like a tensor's is left out."""
    return file.once(_truths)


def _truths(file: SourceFile) -> tuple[Spot, ...]:
    found: dict[ast.expr, Spot] = {}
    for spot in hot_nodes(file, *_ASKING, where=_asked):
        for leaf in _leaves(spot.expression):
            inner = spot_at(file, leaf, spot.function) if leaf not in found else None
            if inner is not None and _may_be_truth(inner, leaf):
                found[leaf] = inner
    for leaf, spot in (*_asserted(file), *_asked_one_by_one(file)):
        if leaf not in found and _may_be_truth(spot, leaf):
            found[leaf] = spot
    return tuple(found.values())


def _asserted(file: SourceFile) -> Iterator[tuple[ast.expr, Spot]]:
    """What `torch._assert(mask.all(), "...")` asks for its truth, as `assert` does."""
    for site in file.hot_calls("_assert") if file.mentions(("._assert(",)) else ():
        if site.call.args and file.denotes(site.call.func, site) == "torch._assert":
            for leaf in _leaves(ast.UnaryOp(ast.Not(), site.call.args[0])):
                spot = spot_at(file, leaf, site.function)
                if spot is not None:
                    yield leaf, spot


def _asked_one_by_one(file: SourceFile) -> Iterator[tuple[ast.expr, Spot]]:
    """What `any(torch.isnan(t) for t in losses)` of Python's own asks for its truth, of each element until one decides.

    What a test in it holds for, `if`, is asked as in every comprehension.
    """
    for site in file.hot_calls("any", "all") if file.mentions(_ASKS_EACH) else ():
        given = site.call.args[0] if len(site.call.args) == 1 else None
        if not isinstance(given, ast.GeneratorExp | ast.ListComp) or not _is_pythons_own(site):
            continue
        for leaf in _leaves(ast.UnaryOp(ast.Not(), given.elt)):
            spot = spot_at(file, leaf, site.function)
            if spot is not None:
                yield leaf, spot


_ASKS_EACH = ("any(", "all(")


def _is_pythons_own(site: Site) -> bool:
    """`any(...)`, where neither an import nor the project says what that is."""
    return isinstance(site.call.func, ast.Name) and site.file.project.values.thing(site.call.func, site.frame) is None


def truths_in_loops(file: SourceFile) -> tuple[Spot, ...]:
    """The expressions that a loop asks for their truth in each turn, in code that is not known to be hot."""
    if not file.mentions(("torch",)):
        return ()
    hot = set(hot_functions(file))
    regions = file.outline.regions
    # A loop over the elements of something counts its turns, or walks over what `zip` pairs.
    looped = {r.function for r in regions if r.kind == "loop" and r.turns is None and _WALKS.search(r.detail)}
    functions = [
        number
        for number in sorted(looped - hot)
        if may_run_often(file, number, moved=True) and not is_kernel(file.outline.functions[number].decorators)
    ]
    return tuple(_leaves_of(file, looped_nodes(file, (ast.If, ast.IfExp), functions)))


_WALKS = pattern(r" in (?:t?range|enumerate|zip|tqdm)\(")


def _leaves_of(file: SourceFile, spots: Iterable[Spot]) -> Iterator[Spot]:
    for spot in spots:
        for leaf in _leaves(spot.expression):
            inner = Spot(file, leaf, spot.function, spot.hot, file.span(leaf)[0])
            if _may_be_truth(inner, leaf):
                yield inner


def _leaves(node: ast.expr | ast.stmt) -> Iterator[ast.expr]:
    """What `node` asks for its truth; `and`, `or` and `not` ask their operands."""
    stack = list(reversed(_asked(node)))
    while stack:
        current = stack.pop()
        if isinstance(current, ast.BoolOp):
            stack += reversed(current.values)
        elif isinstance(current, ast.UnaryOp) and isinstance(current.op, ast.Not):
            stack.append(current.operand)
        else:
            yield current


def _asked(node: ast.expr | ast.stmt) -> list[ast.expr]:
    if isinstance(node, ast.If | ast.While | ast.Assert | ast.IfExp):
        return [node.test]
    if isinstance(node, ast.BoolOp):
        return node.values[:-1]
    if isinstance(node, ast.UnaryOp):
        return [node.operand] if isinstance(node.op, ast.Not) else []
    return [test for generator in node.generators for test in generator.ifs]  # type: ignore[union-attr]


def _may_be_truth(spot: Spot, node: ast.expr, hops: int = 0) -> bool:
    """Whether an expression looks like a truth value of tensors; a name is followed to what it was bound to."""
    if isinstance(node, ast.Attribute):
        return _is_buffer(spot.file, node)
    if isinstance(node, ast.Compare):
        sides = (node.left, *node.comparators)
        return _compares_numbers(node) and (
            may_be_tensor(spot, node)
            or any(_is_buffer(spot.file, side) for side in sides)
            or any(_is_given_an_element(spot, side) for side in sides)
        )
    if isinstance(node, ast.Call):
        called = last_part(chain(node.func))
        # A function of the project, or of the object itself: of others `is_in` and its like give a plain truth.
        own = isinstance(node.func, ast.Name) or chain(node.func).startswith("self.")
        answers = called in _PREDICATES or (own and _answers(spot, node, called))
        return answers and may_be_tensor(spot, node)
    if isinstance(node, ast.Subscript):
        may_be = may_be_tensor(spot, node) or _is_buffer(spot.file, node)
        return not isinstance(node.slice, ast.Slice) and not _is_key(node.slice) and may_be
    if isinstance(node, ast.BoolOp):
        return any(_may_be_truth(spot, value, hops) for value in node.values)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.BitAnd | ast.BitOr | ast.BitXor)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Invert)
    if not isinstance(node, ast.Name) or hops > _HOPS:
        return False
    body = spot.file.project.body(spot.file.path)
    reaching = body.reaching(spot.function, node.id, max(body.at(node), spot.start)) if body is not None else None
    bound = [d.value for d in reaching or () if d.how == "assign" and d.value is not None]
    return any(_may_be_truth(spot, value, hops + 1) for value in bound) or _goes_along_a_tensor(spot, node)


def _goes_along_a_tensor(spot: Spot, name: ast.Name) -> bool:
    """Whether a name is what a loop takes from a tensor in each turn: `[n for n, bad in zip(names, flags) if bad]`."""
    for loop in spot.file.enclosing(spot.function).loops(name):
        whole = next((part for target, part in parts_of(loop.target, loop.iter) if target == name.id), None)
        if whole is not None:
            value = spot.file.value(whole, spot)
            return value.kind == "tensor" and value.on_device
    return False


_HOPS = 1


def _is_given_an_element(spot: Spot, node: ast.expr) -> bool:
    """A parameter of which nothing says what it is, where a call in the file passes an element for it: `steps[i]`.

    Or a tensor made of numbers there: `t = torch.tensor([i], device=device)`.
    """
    file, record = spot.file, spot.file.outline.functions[spot.function]
    parameter = next((p for p in record.parameters if isinstance(node, ast.Name) and p.name == node.id), None)
    body = file.project.body(file.path)
    if parameter is None or parameter.annotation or parameter.default or body is None:
        return False
    for site in file.project.hotness.callers.get(FunctionKey(file.path, spot.function), ())[:_CALLERS]:
        call = body.node_of(site.call) if site.path == file.path else None
        given = argument_for(call, record, parameter.name) if call is not None else None
        if isinstance(given, ast.Name):
            given = body.assigned_once(site.call.function, given.id, body.at(given))
        if isinstance(given, ast.Subscript) and not _is_key(given.slice):
            return True
        if isinstance(given, ast.Call) and chain(given.func) in _MADE:
            return True
    return False


_CALLERS = 4
_MADE = frozenset(f"{torch}.{name}" for torch in ("torch", "th") for name in ("tensor", "full", "as_tensor"))


def _answers(spot: Spot, call: ast.Call, called: str) -> bool:
    return bool(_ASKS.match(called)) or answers_with_a_truth(spot.file, spot.function, chain(call.func))


def _is_key(index: ast.expr) -> bool:
    """Whether an entry is one of a dict: `options["check"]`."""
    return is_text(index)


def _is_buffer(file: SourceFile, node: ast.expr) -> bool:
    """`self.name`, or an element of it, where a class of the file registers a buffer of that name."""
    node = node.value if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice) else node
    return isinstance(node, ast.Attribute) and chain(node.value) == "self" and node.attr in file.once(_buffers)


def _buffers(file: SourceFile) -> frozenset[str]:
    body = file.project.body(file.path)
    if body is None or not file.mentions(("register_buffer",)):
        return frozenset()
    methods = {method for record in file.outline.classes for method in record.methods.values()}
    assigned = (body.self_assignments(method) for method in sorted(methods))
    return frozenset(name for found in assigned for name, _, registered in found if registered)


def _compares_numbers(node: ast.Compare) -> bool:
    sides = (node.left, *node.comparators)
    if any(isinstance(s, ast.Constant) and (s.value is None or isinstance(s.value, str | bool)) for s in sides):
        return False
    if any(_is_shape(side) for side in sides) and all(isinstance(s, ast.Name) or _is_shape(s) for s in sides):
        return False
    return not any(isinstance(op, _IDENTITY) for op in node.ops)


def _is_shape(node: ast.expr) -> bool:
    """`x.shape[0]`: what is compared with that by its bare name is a number, whatever its annotation says."""
    return isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
