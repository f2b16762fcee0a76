"""Arrays that grow by being copied whole: `x = torch.cat([x, y])` turn after turn."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torchperf_lint.facts.bindings.effects import statements
from torchperf_lint.facts.element_loops.cut_elsewhere import cut_elsewhere, is_a_part
from torchperf_lint.facts.element_loops.empty import begins_empty
from torchperf_lint.facts.element_loops.grown_entries import entries_of, goes_through_entries, reads_entries
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.hotness.loop import FEW_TURNS
from torchperf_lint.facts.outlines.guards import literal_turns
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.expressions_written import as_written
from torchperf_lint.facts.syntax.syntax import names_of
from torchperf_lint.patterns import pattern

Loop = ast.For | ast.AsyncFor | ast.While

JOINS = tuple(
    f"{module}.{name}"
    for module, names in (
        ("torch", "cat concat concatenate stack hstack vstack dstack column_stack row_stack"),
        ("numpy", "concatenate append stack hstack vstack dstack column_stack"),
    )
    for name in names.split()
)
_ASKS = frozenset({"shape", "size", "dim", "ndim", "device", "dtype", "numel", "is_cuda", "requires_grad", "new_zeros"})
_GROWS = frozenset({"append", "extend", "insert"})
_JOIN_NAMES = frozenset(name.rpartition(".")[2] for name in JOINS)
_MOVES = frozenset({"to", "cuda", "cpu", "detach", "contiguous", "clone", "float", "half", "numpy", "long"})
_SHRINKS = frozenset({"pop", "popleft", "clear", "remove"})
FEW_BY_NAME = pattern(
    r"config|layer|block|child|channel|(?:^|[^a-z])chs?(?:$|_|[^a-z])|head(?!er)|level|stage|scale|branch|conv|pyramid|dilation|module|expert|adapter|lora|model|net(?:s|$|\b)"
    r"|decoder|encoder|key|name|field|modalit|camera|depth|group|part|split|kernel|factor|aspect|stride|feat|attr|col(?:s|umn)"
    r"|task|criteri|loss|component|device|gpu|rank|axis|axes|dims?\b|view|aug|tta|flip|chunk"
    r"|(?:action|observation|obs|state)_spaces?\b",
    re.IGNORECASE,
)
"""What loops go over whose turns a network's layout or a configuration fixes, a handful most often."""


_DRAWS = pattern(r"^(?:rand\w*|random\w*|r?sample\w*|uniform\w*|normal|draw\w*|propose\w*|choice)(?:\(\))?$")
_CACHE = pattern(r"cache|past|(?:^|_)(?:kv|keys?|values?|memory|states?|history|context)(?:_|s?$)")


class Growth(NamedTuple):
    """One statement that makes something longer by copying all of it."""

    target: str
    """What grows, as written."""
    loop: Loop | None
    """The innermost loop over whose turns it grows; None where it grows from call to call."""
    needed: bool
    """Whether each turn reads the whole, or cannot keep the parts."""
    listed: bool = False
    """Whether it is a list that grows, and each turn joins all of it."""


def growth_of(file: SourceFile, site: Site) -> Growth | None:
    """What a call that joins arrays makes grow; None where it starts afresh, or keeps a fixed length."""
    statement = file.enclosing(site.record.function).statement(site.call)
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None or not site.call.args:
        return None
    joined = site.call.args[0]
    parts = _parts(site.call)
    for target, value in _pairs(statement):
        if "?" in chain(target) or not _is_the_result(file, site, value):
            continue
        grown = as_written(target)
        own = [part for part in parts if as_written(part) == grown]
        if own:
            # Joined with itself it doubles, and is done after a few turns; `stack` adds a dimension each time.
            doubles = len(own) == len(parts) or last_part(site.record.callee) == "stack"
            return None if doubles else _grows(file, site, statement, target)
        return _of_a_list(file, site, statement, joined)
    return None


def _parts(call: ast.Call) -> list[ast.expr]:
    """What a join is given: the elements of its list, or a list by name; `np.append` takes two arguments."""
    joined = call.args[0]
    if isinstance(joined, ast.List | ast.Tuple):
        return joined.elts
    return call.args[:2] if last_part(chain(call.func)) == "append" else [joined]


def _pairs(statement: ast.Assign | ast.AnnAssign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """(target, value) of an assignment; of `a, b = x, y` each."""
    assert statement.value is not None
    for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
        value = statement.value
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            yield from zip(target.elts, value.elts, strict=True)
        else:
            yield target, value


def _is_the_result(file: SourceFile, site: Site, value: ast.expr) -> bool:
    """Whether the joined array is what is assigned, through methods at most: not a slice of it, not an argument."""
    node: ast.AST = site.call
    for parent in file.enclosing(site.record.function).ancestors(site.call):
        if node is value:
            return True
        through = isinstance(parent, ast.IfExp | ast.Attribute) or (
            isinstance(parent, ast.Call) and parent.func is node
        )
        if not through:
            return False
        node = parent
    return node is value


def _grows(file: SourceFile, site: Site, statement: ast.stmt, target: ast.expr) -> Growth | None:
    written = ast.unparse(target)
    variables = names_of(target)
    loop = None
    for around in _loops(file, site, statement):
        others = [s for s in _sets(around.body, written) if s is not statement and not _joins(s, target)]
        if any(_cuts(other, written) for other in others):
            return None
        if any(not _exclusive(file, site, other, statement) and not _moves(other, written) for other in others):
            break
        if goes_through_entries(target, around):
            continue  # `results[i]` for each i: they grow over the turns of the loop around this one, if there is one
        another = (variables & _bound_by(around)) or _names_another(target, around)
        if another or _made_anew(file, site, statement, target, around):
            break  # each turn has one of its own
        if not _few(file, site, around) or _stands_for_a_list(file, site, around, target):
            loop = loop or around
        if any(_of_first_turn(file, site, other, around) for other in others):
            break  # further out it begins anew
    if loop is None:
        return _from_call_to_call(file, site, statement, target)
    itself = isinstance(target, ast.Name) and _made_of_itself(site.call, target.id)
    needed = itself or _read_elsewhere(loop.body, target) or reads_entries(target, loop)
    return Growth(written, loop, needed or _saves_memory(loop))


def _made_anew(file: SourceFile, site: Site, statement: ast.stmt, target: ast.expr, loop: Loop) -> bool:
    """Whether each turn makes the list anew of which an entry grows."""
    held = entries_of(target)
    return held is not None and any(not _exclusive(file, site, s, statement) for s in _sets(loop.body, held))


def _from_call_to_call(file: SourceFile, site: Site, statement: ast.stmt, target: ast.expr) -> Growth | None:
    """`self.x = torch.cat([self.x, y])`, or `self.x[name]`, in a function that runs every step."""
    held = target.value if isinstance(target, ast.Subscript) else target
    if not isinstance(held, ast.Attribute) or chain(held.value) != "self" or cut_elsewhere(site, held.attr):
        return None
    top = file.enclosing(site.record.function).top
    written = ast.unparse(target)
    others = [s for s in _sets(top.body, written) if s is not statement and not _joins(s, target)]
    if any(_cuts(o, written) or not (_moves(o, written) or _exclusive(file, site, o, statement)) for o in others):
        return None
    # What holds keys and values of attention is read whole by the next call.
    cached = held is not target and _CACHE.search(held.attr) is not None
    return Growth(written, None, cached or _read_elsewhere(top.body, target))


def _saves_memory(loop: Loop) -> bool:
    """Whether a loop gives memory back turn by turn: then parts must not live until a join at its end."""
    return any(
        isinstance(node, ast.Call) and re.search(r"empty_\w*cache|gc\.collect", chain(node.func))
        for node in ast.walk(loop)
    )


def _of_a_list(file: SourceFile, site: Site, statement: ast.stmt, joined: ast.expr) -> Growth | None:
    """`parts.append(y)`, and then `x = torch.cat(parts)` in the same turn."""
    if not isinstance(joined, ast.Name | ast.Attribute) or "?" in chain(joined):
        return None
    written = ast.unparse(joined)
    for around in _loops(file, site, statement):
        if any(_sets(around.body, written)) or written in _bound_by(around):
            return None
        changes = set(_changes(around.body, written))
        if changes & _SHRINKS:
            return None
        if changes & _GROWS and not _few(file, site, around):
            return Growth(written, around, not _is_hot_by_itself(file, site, around), listed=True)
    return None


def _loops(file: SourceFile, site: Site, statement: ast.stmt) -> Iterator[Loop]:
    """The loops that a statement is in the body of, innermost first."""
    parents, inner = file.enclosing(site.record.function).parents, statement
    node: ast.AST = inner
    while node in parents:
        parent = parents[node]
        if isinstance(parent, Loop) and any(node is s for s in parent.body):
            yield parent
        node = parent


def _sets(body: Sequence[ast.stmt], written: str) -> list[ast.stmt]:
    """The statements that assign to a target."""
    return [statement for statement in statements(body) if written in _targets(statement)]


def _targets(statement: ast.stmt) -> list[str]:
    """What a statement assigns to, as written."""
    if isinstance(statement, ast.Assign):
        nodes = [e for t in statement.targets for e in (t.elts if isinstance(t, ast.Tuple | ast.List) else [t])]
        return [ast.unparse(node) for node in nodes]
    if isinstance(statement, ast.For | ast.AsyncFor) or (isinstance(statement, ast.AnnAssign) and statement.value):
        return [ast.unparse(statement.target)]
    return []


def _joins(statement: ast.stmt, target: ast.expr) -> bool:
    """Whether a statement is another join of a thing with more."""
    written, value = ast.unparse(target), getattr(statement, "value", None)
    nodes = ast.walk(value) if isinstance(value, ast.expr) else ()
    calls = [n for n in nodes if isinstance(n, ast.Call) and n.args and last_part(chain(n.func)) in _JOIN_NAMES]
    return any(ast.unparse(part) == written for call in calls for part in _parts(call))


def _moves(statement: ast.stmt, written: str) -> bool:
    """`x = x.to(device)`, `x = x[order]`: longer it stays."""
    value = getattr(statement, "value", None)
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _MOVES:
        value = value.func.value
    if isinstance(value, ast.Subscript) and not isinstance(value.slice, ast.Slice):
        value = value.value
    return isinstance(value, ast.expr) and ast.unparse(value) == written


def _cuts(statement: ast.stmt, written: str) -> bool:
    """`x = x[-n:]`."""
    return is_a_part(getattr(statement, "value", None), written)


def _exclusive(file: SourceFile, site: Site, other: ast.stmt, statement: ast.stmt) -> bool:
    """Whether one of two statements stands in the `if` branch that the other is not in: the first turn, the others."""
    parents = file.enclosing(site.record.function).parents

    def path(node: ast.AST) -> list[tuple[ast.AST, ast.AST]]:
        found = []
        while node in parents:
            found.append((parents[node], node))
            node = parents[node]
        return found

    ours = {id(parent): inner for parent, inner in path(statement)}
    for parent, inner in path(other):
        if isinstance(parent, ast.If | ast.Try) and id(parent) in ours:
            return ours[id(parent)] is not inner and not _same_block(parent, inner, ours[id(parent)])
        # `if x is None: x = y; continue`, and `if x is None: x = y[:0]` before the join.
        if isinstance(parent, ast.If) and _asks_first(parent.test):
            return True
    return False


def _of_first_turn(file: SourceFile, site: Site, other: ast.stmt, loop: Loop) -> bool:
    """`if i == 0: x = y` in `for i in range(n):`."""
    parents = file.enclosing(site.record.function).parents
    node: ast.AST = other
    while node in parents and node is not loop:
        node = parents[node]
        if isinstance(node, ast.If) and _asks_first(node.test) and names_of(node.test) & _bound_by(loop):
            return True
    return False


def _same_block(parent: ast.If | ast.Try, one: ast.AST, other: ast.AST) -> bool:
    return any(
        any(one is s for s in block) and any(other is s for s in block) for block in (parent.body, parent.orelse)
    )


def _asks_first(test: ast.expr) -> bool:
    """`x is None`, `i == 0`, `not started`, `len(x) == 0`: the first turn."""
    if isinstance(test, ast.UnaryOp):
        return isinstance(test.op, ast.Not)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        right = test.comparators[0]
        return isinstance(test.ops[0], ast.Is | ast.Eq) and isinstance(right, ast.Constant) and right.value in (None, 0)
    return isinstance(test, ast.Name | ast.Attribute)


def _bound_by(loop: Loop) -> set[str]:
    """The names that a loop gives new values each turn."""
    target = None if isinstance(loop, ast.While) else loop.target
    return set() if target is None else names_of(target)


def _names_another(target: ast.expr, loop: Loop) -> bool:
    """Whether each turn works out which entry it adds to: `name = key.replace("a", "b")`, then `parts[name] = ...`."""
    indices = [node.slice for node in ast.walk(target) if isinstance(node, ast.Subscript)]
    keys = names_of(*indices)
    turned = _bound_by(loop)
    for statement in loop.body if keys else ():
        for node in ast.walk(statement):
            targets = {t.id for t in node.targets if isinstance(t, ast.Name)} if isinstance(node, ast.Assign) else set()
            made = node.value if targets & keys and isinstance(node, ast.Assign) else None
            if made is not None and turned & names_of(made):
                return True
    return False


def _few(file: SourceFile, site: Site, loop: Loop) -> bool:
    """Whether a network's layout or a configuration, not the data, says how often a loop turns."""
    if isinstance(loop, ast.While):
        return _fills_up(loop)
    turns = literal_turns(loop.iter)
    if turns is not None:
        return turns <= FEW_TURNS
    if _is_hot_by_itself(file, site, loop):
        return False
    return bool(FEW_BY_NAME.search(f"{ast.unparse(loop.target)} {ast.unparse(loop.iter)}"))


def _fills_up(loop: ast.While) -> bool:
    """Whether a loop draws samples until enough are accepted, most of them in its first turn: rejection sampling."""
    if not any(isinstance(n, ast.Call) and _DRAWS.search(last_part(chain(n.func))) for n in ast.walk(loop)):
        return False
    asked = [n for n in ast.walk(loop.test) if isinstance(n, ast.Name | ast.Attribute)]
    if any(isinstance(n, ast.Attribute) and n.attr == "shape" for n in asked) or "len" in names_of(loop.test):
        return True
    counted = [s for s in ast.walk(loop) if isinstance(s, ast.AugAssign) and not isinstance(s.value, ast.Constant)]
    return any(chain(s.target) == chain(n) for s in counted for n in asked)


def _stands_for_a_list(file: SourceFile, site: Site, loop: Loop, target: ast.expr) -> bool:
    """Whether a tensor begins empty, and turns only put something behind it: what lists are for, however few."""
    if isinstance(loop, ast.While) or literal_turns(loop.iter) is not None or not isinstance(target, ast.Name):
        return False
    if not begins_empty(file, site.function, target.id, loop):
        return False
    return not _read_elsewhere(loop.body, target) and not _made_of_itself(site.call, target.id)


def _made_of_itself(call: ast.Call, name: str) -> bool:
    """`x = torch.cat([x, f(x)])`: the next part needs all that came before."""
    others = [part for part in _parts(call) if ast.unparse(part) != name]
    asked = {id(n.value) for part in others for n in ast.walk(part) if isinstance(n, ast.Attribute) and n.attr in _ASKS}
    names = [n for part in others for n in ast.walk(part) if isinstance(n, ast.Name) and id(n) not in asked]
    return any(node.id == name for node in names)


def _is_hot_by_itself(file: SourceFile, site: Site, loop: Loop) -> bool:
    """Whether a loop is what makes the code hot: over batches, over the tokens that are decoded."""
    hot = site.hot.loop if site.hot is not None else None
    return hot is not None and hot[0] == file.path and file.outline.regions[hot[1]].head == loop.lineno


def _read_elsewhere(body: Sequence[ast.stmt], target: ast.expr) -> bool:
    """Whether something else than joins, and questions about shape and device, reads a target."""
    written, kind = ast.unparse(target), type(target)
    for statement in statements(body):
        if written in _targets(statement) and not _reorders(statement, written):
            continue
        asked = set()
        for node in _own_nodes(statement):
            if isinstance(node, ast.Attribute) and node.attr in _ASKS:
                asked.add(node.value)
            elif isinstance(node, ast.Compare) and any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
                asked.add(node.left)
            elif isinstance(node, ast.Call) and chain(node.func) in ("len", "print", "logger.info", "isinstance"):
                asked.update(node.args)
            elif isinstance(node, kind) and node not in asked and ast.unparse(node) == written and _is_read(node):
                return True
    return False


def _is_read(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Load)


def _reorders(statement: ast.stmt, written: str) -> bool:
    """`tokens = tokens[order]`: the next turn reads the whole, in another order."""
    return _moves(statement, written) and any(isinstance(n, ast.Subscript) and _is_read(n) for n in ast.walk(statement))


def _own_nodes(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of one statement, those of statements in its blocks left out, parents first."""
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        yield node
        stack += [c for c in ast.iter_child_nodes(node) if not isinstance(c, ast.stmt | ast.ExceptHandler)]


def _changes(body: Sequence[ast.stmt], written: str) -> Iterator[str]:
    """The methods that change a list, called on it in some statements; `+=` counts as extend."""
    for statement in statements(body):
        if isinstance(statement, ast.AugAssign) and ast.unparse(statement.target) == written:
            yield "extend"
        for node in _own_nodes(statement):
            method = node.func if isinstance(node, ast.Call) else None
            if isinstance(method, ast.Attribute) and method.attr in _GROWS | _SHRINKS:
                yield from [method.attr] if ast.unparse(method.value) == written else []
