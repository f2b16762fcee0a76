"""Which bindings reach a place: the quick answer against a plain one, over many made-up functions."""

import ast
import random
from collections.abc import Iterator

import pytest

from torchperf_lint.facts.bindings.bindings import HANDLER, BlockPath, Collector, Definition
from torchperf_lint.facts.bindings.nested_spans import NestedSpans
from torchperf_lint.facts.bindings.own_expressions import lines_that_may_bind
from torchperf_lint.facts.bindings.reaching import BindingsOfName
from torchperf_lint.facts.outlines.records import END_OF_FILE, Position

_OTHER = {"body": "else", "else": "body"}


def _at(node: ast.AST, end: bool = False) -> Position:
    if end:
        return node.end_lineno, node.end_col_offset + 1  # type: ignore[attr-defined]
    return node.lineno, node.col_offset + 1  # type: ignore[attr-defined]


def _collected(code: str) -> Collector:
    collector = Collector(_at, lines_that_may_bind(code))
    collector.run(ast.parse(code).body)
    return collector


def _code(random_: random.Random, depth: int = 0) -> Iterator[str]:
    indent = "    " * depth
    for _ in range(random_.randint(1, 4)):
        kind = random_.choice(("assign", "assign", "augmented", "walrus", "each", "if", "elif", "for", "while", "try"))
        if depth > 2 and kind in ("if", "elif", "for", "while", "try"):
            kind = "assign"
        if kind == "assign":
            yield f"{indent}x = f(x, y)"
        elif kind == "augmented":
            yield f"{indent}x += 1"
        elif kind == "walrus":
            yield f"{indent}y = f(x := y, x)"
        elif kind == "each":
            yield f"{indent}y = [x for x in f(x)]"
        elif kind == "for":
            yield f"{indent}for {random_.choice('xy')} in f(x):"
            yield from _code(random_, depth + 1)
        elif kind == "try":
            yield f"{indent}try:"
            yield from _code(random_, depth + 1)
            yield f"{indent}except E:"
            yield from _code(random_, depth + 1)
        else:
            yield f"{indent}{'while' if kind == 'while' else 'if'} f(x):"
            yield from _code(random_, depth + 1)
            if kind == "elif":
                yield f"{indent}elif y:"
                yield from _code(random_, depth + 1)
            if random_.random() < 0.6:
                yield f"{indent}else:"
                yield from _code(random_, depth + 1)
                if random_.random() < 0.4:
                    yield f"{indent}    {random_.choice(('raise E', 'return', 'continue'))}"


def _shared(one: BlockPath, other: BlockPath) -> int:
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _exclusive(one: BlockPath, other: BlockPath, renewed: int = 0) -> bool:
    """`renewed`: how many blocks stand around what binds the name in each turn of the loops among them."""
    n = _shared(one, other)
    if n >= min(len(one), len(other)) or any(branch == "loop" for _, branch in other[renewed:n]):
        return False
    return one[n][0] == other[n][0] and {one[n][1], other[n][1]} == {"body", "else"}


def _certain_block(definition: Definition, block: BlockPath, covered: set[BlockPath]) -> BlockPath | None:
    after_try = any(line in definition.tries and branch.startswith(HANDLER) for line, branch in block)
    if block[: len(definition.block)] == definition.block and not after_try:
        return definition.block
    path = () if definition.tries else definition.block
    while path and path[-1][1] in _OTHER:
        covered.add(path)
        line, branch = path[-1]
        other = (*path[:-1], (line, _OTHER[branch]))
        left = line in definition.alone and block[: len(other)] != other
        if other not in covered and not left:
            return None
        path = path[:-1]
        if block[: len(path)] == path:
            return path
    return None


def _plainly(found: list[Definition], at: Position, block: BlockPath) -> list[Definition]:
    """Each binding looked at for each place: what `BindingsOfName` has to say, too."""
    kept: list[Definition] = []
    covered: set[BlockPath] = set()
    certain = None
    found = [d for d in found if d.gone is None or d.gone in block]
    for definition in reversed([d for d in found if d.end <= at and not _exclusive(d.block, block)]):
        if any(definition.block[: len(path)] == path for path in covered):
            continue
        kept.append(definition)
        certain = None if definition.how == "augmented" else _certain_block(definition, block, covered)
        if certain is not None:
            kept = [d for d in kept if not _exclusive(d.block, block, len(certain))]
            break
    carried = []
    for later in (d for d in found if d.end > at and not _exclusive(d.block, block)):
        loops = [n for n in range(_shared(later.block, block)) if block[n][1] == "loop"]
        if loops and (certain is None or len(certain) <= loops[-1]):
            carried.append(later)
    return [*reversed(kept), *carried]


@pytest.mark.parametrize("seed", range(40))
def test_the_quick_answer_is_the_plain_one(seed: int) -> None:
    """For each name of a made-up function."""
    code = "\n".join(_code(random.Random(seed)))
    tree, collector = ast.parse(code), _collected(code)
    spans = NestedSpans([span[:2] for span in collector.spans])
    for name, found in collector.found.items():
        found.sort(key=lambda d: (d.at, d.end))
        bindings = BindingsOfName(found)
        outside = [d for d in found if d.within is None]
        for node in (n for n in ast.walk(tree) if isinstance(n, ast.Name)):
            at = _at(node)
            block = max((collector.spans[n][2] for n in spans.around(at)), key=len, default=())
            around = [s[2] for s in collector.spans if s[0] <= at < s[1]]
            assert block == max(around, key=len, default=())
            assert (bindings.reaching(at, block) or []) == _plainly(outside, at, block)
            inner = [d for d in found if d.within is not None and d.within[0] <= at < d.within[1]]
            assert bindings.within(at) == (inner[-1] if inner else None), name


def _reached(code: str, line: int) -> list[int]:
    """The lines of the bindings of `x` that reach a line."""
    collector = _collected(code)
    found = sorted(collector.found["x"], key=lambda d: (d.at, d.end))
    block = max((s[2] for s in collector.spans if s[0] <= (line, 90) < (s[1][0], 999)), key=len, default=())
    return [d.at[0] for d in BindingsOfName(found).reaching((line, 90), block) or []]


def test_a_turn_that_binds_the_name_anew_carries_nothing_from_one_branch_to_the_other() -> None:
    """What the loop takes is no longer what the turn before has made of it."""
    lines = ["for x in loader:", "    if gpu:", "        x = x.cuda(gpu)", "    else:", "        f(x)"]
    assert _reached("\n".join(lines), 5) == [1]
    assert _reached("\n".join(["x = 0", "for y in loader:", *lines[1:]]), 6) == [1, 4]


_RAISES = """\
x = 0
for y in loader:
    if len(y) == 4:
        x = y[1]
    else:
        raise E
    f(x)"""


def test_what_the_only_branch_that_goes_on_has_bound_is_certain() -> None:
    """Nobody gets past an `if` through a branch that raises, or leaves the turn."""
    assert _reached(_RAISES, 7) == [4]
    assert _reached(_RAISES.replace("raise E", "continue"), 7) == [4]
    assert _reached("if a:\n    raise E\nelif b:\n    x = 1\nelse:\n    x = 2\nf(x)", 7) == [4, 6]
    assert _reached("x = 0\nif a:\n    x = 1\nelif b:\n    x = 2\nelse:\n    return\nx", 8) == [3, 5]


def test_a_branch_that_goes_on_leaves_the_name_as_it_was() -> None:
    """Also one that raises in the middle only, and what a handler brings back."""
    assert _reached(_RAISES.replace("raise E", "f(y)"), 7) == [1, 4]
    assert _reached(_RAISES.replace("raise E", "if y: raise E"), 7) == [1, 4]
    assert _reached(_RAISES.replace("raise E", "break").replace("    f(x)", "f(x)"), 7) == [1, 4]
    assert _reached(_RAISES.replace("raise E", "raise E(x)"), 6) == [1, 4]
    inside = "x = 0\ntry:\n    if a:\n        x = 1\n    else:\n        raise E\nexcept E:\n    pass\nf(x)"
    assert _reached(inside, 9) == [1, 4]


def test_what_a_branch_binds_that_ends_the_function_holds_in_it_alone() -> None:
    """Nor does a loop carry it to the next turn, as it does what a branch binds that goes on there."""
    code = "x = 0\nif a:\n    x = 1\n    f(x)\n    return x\nf(x)"
    assert _reached(code, 4) == [3]
    assert _reached(code, 6) == [1]
    assert _reached(code.replace("return x", "raise E(x)"), 6) == [1]
    assert _reached(code.replace("return x", "f(x)"), 6) == [1, 3]
    assert _reached("for y in z:\n    if a:\n        x = 1\n        return x\n    f(x)", 5) == []
    assert _reached("for y in z:\n    if a:\n        x = 1\n        continue\n    f(x)", 5) == [3]
    turned = "for y in z:\n    if a:\n        x = 1\n        if b: continue\n        return x\n    f(x)"
    assert _reached(turned, 6) == [3]


def test_what_a_branch_binds_is_seen_by_what_handles_its_error() -> None:
    """And by a function inside, which is run at any time."""
    inside = "x = 0\ntry:\n    if a:\n        x = 1\n        raise E\nexcept E:\n    f(x)"
    assert _reached(inside, 7) == [1, 4]
    collector = _collected("if a:\n    x = 1\n    return lambda: x")
    assert [d.at[0] for d in BindingsOfName(collector.found["x"]).reaching(END_OF_FILE, ()) or ()] == [2]


def test_spans_that_overlap_are_all_found() -> None:
    """Python 3.11 and before give wrong places inside f-strings: nothing may rest on spans that nest."""
    random_ = random.Random(1)
    spans = [tuple(sorted(((random_.randint(1, 9), 1), (random_.randint(1, 9), 5)))) for _ in range(60)]
    asked = NestedSpans(spans)
    for line in range(11):
        at = (line, 3)
        assert asked.around(at) == [n for n, (start, end) in enumerate(spans) if start <= at < end]
