"""Which bindings of a name may hold at a place."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate

from torchperf_lint.facts.bindings.bindings import HANDLER, BlockPath, Definition
from torchperf_lint.facts.bindings.nested_spans import NestedSpans
from torchperf_lint.facts.outlines.records import END_OF_FILE, Position

_OTHER = {"body": "else", "else": "body"}


class BindingsOfName:
    """The bindings of one name in one scope, laid out so that a place of a long function is answered in few steps."""

    def __init__(self, found: Sequence[Definition]) -> None:
        """`found`: in the order of (at, end)."""
        self._inner = [d for d in found if d.within is not None]
        self._found = [d for d in found if d.within is None] if self._inner else found
        self._starts = [d.at for d in self._found]
        self._only = self._found[0] if len(self._found) == 1 and not self._found[0].block else None
        """What alone binds the name, and in no block, as most names are bound: it holds all the way down."""
        self.alone = [self._only] if self._only is not None and not self._inner else None
        """The same as a list, where the name is no variable of a comprehension or lambda either."""
        self.known: dict[Position, list[Definition] | None] = {}
        """Place -> the bindings that may hold there, as far as anybody has asked."""
        self._may_be_gone = self._only is None and any(d.gone is not None for d in self._found)

    @cached_property
    def _within(self) -> NestedSpans:
        return NestedSpans([d.within for d in self._inner if d.within is not None])

    @cached_property
    def _last_end(self) -> list[Position]:
        """For each binding, where the last of it and those before it ends."""
        return list(accumulate((d.end for d in self._found), max))

    @cached_property
    def _in_loop(self) -> dict[int, list[int]]:
        """Line of a loop -> the numbers of the bindings in it, in order."""
        table: dict[int, list[int]] = {}
        for number, definition in enumerate(self._found):
            for line, branch in definition.block:
                if branch == "loop":
                    table.setdefault(line, []).append(number)
        return table

    def within(self, at: Position) -> Definition | None:
        """The variable of a comprehension or lambda that the name is at a place."""
        around = self._within.around(at) if self._inner else ()
        return self._inner[around[-1]] if around else None

    def reaching(self, at: Position, block: BlockPath) -> list[Definition] | None:
        """The bindings, in order, that may hold at a place inside `block`; None for a name bound in none."""
        if self._only is not None:
            return [self._only] if self._only.end <= at else []
        bound = any(not _is_gone(d, at, block) for d in self._found) if self._may_be_gone else bool(self._found)
        return self._reaching(at, block)[0] if bound else None

    def settled(self, at: Position, block: BlockPath) -> list[Definition]:
        """The same, where one of them has certainly come before; else none."""
        found, certain = self._reaching(at, block)
        return found if certain is not None else []

    def _reaching(self, at: Position, block: BlockPath) -> tuple[list[Definition], BlockPath | None]:
        after = bisect_right(self._starts, at)
        loops = [depth for depth, (_, branch) in enumerate(block) if branch == "loop"]
        kept, certain = self._passed(after, at, block, loops[0] if loops else len(block))
        kept.reverse()
        if not loops:
            return kept, certain
        # What is bound later in a turn of a loop holds in the next turn, unless each turn binds the name before.
        carrying = next((depth for depth in loops if certain is None or depth >= len(certain)), None)
        if carrying is not None:
            later = (self._found[number] for number in self._later(after, at, block[carrying][0]))
            kept += [definition for definition in later if not _is_gone(definition, at, block)]
        return kept, certain

    def _passed(
        self, after: int, at: Position, block: BlockPath, first_loop: int
    ) -> tuple[list[Definition], BlockPath | None]:
        """The bindings made before a place, last first, back to one that is certain, and the block that one is in."""
        kept: list[Definition] = []
        covered: set[tuple[int, str]] = set()
        for number in range(after - 1, -1, -1):
            definition = self._found[number]
            if definition.end > at or _exclusive(definition.block, block, first_loop):
                continue
            if _is_gone(definition, at, block):
                continue
            if covered and not covered.isdisjoint(definition.block):
                continue  # the branch binds the name again before it ends
            kept.append(definition)
            if definition.how == "augmented":
                continue
            certain = definition.block if _always_before(definition, block) else None
            certain = certain if certain is not None else _both_branches(definition, block, covered)
            if certain is not None:
                return _not_beside(kept, certain, block), certain
        return kept, None

    def _later(self, after: int, at: Position, loop: int) -> Iterator[int]:
        """The numbers of the bindings in the loop on a line that are made after a place, in order."""
        members = self._in_loop.get(loop, [])
        first = after
        while first > 0 and self._last_end[first - 1] > at:
            first -= 1  # the place is in the statement that binds the name
        for number in members[bisect_left(members, first) :]:
            if self._found[number].end > at:
                yield number


def _is_gone(definition: Definition, at: Position, block: BlockPath) -> bool:
    """Whether whoever passes a binding leaves the function before a place; an inner function may be run later."""
    return definition.gone is not None and definition.gone not in block and at < END_OF_FILE


def _always_before(definition: Definition, block: BlockPath) -> bool:
    """Whether whoever gets to `block` has passed the definition; what a handler handles may have come before it."""
    if block[: len(definition.block)] != definition.block:
        return False
    tries = definition.tries
    return not tries or not any(line in tries and branch.startswith(HANDLER) for line, branch in block)


def is_bound_before(found: Sequence[Definition], at: Position, block: BlockPath) -> bool:
    """Whether whoever gets to a place in `block` has passed one of the bindings that may hold there.

    `if refine: x = [y.flip(0) for y in x]; use(x)`: the parameter `x` is another thing in the whole rest of the branch.
    What a turn of a loop binds below the place was not there in the first turn.
    """
    for d in found:  # noqa: SIM110 -- asked of every name that is a parameter as well
        if d.how != "augmented" and (not d.block or (d.end <= at and _always_before(d, block))):
            return True
    return False


def _both_branches(definition: Definition, block: BlockPath, covered: set[tuple[int, str]]) -> BlockPath | None:
    """The block in which a definition, with one in each other branch of its `if`s, binds a name on every way.

    `covered`: the branches so far in which the name is bound on every way. A branch that raises is no way.
    """
    path = () if definition.tries else definition.block
    while path and path[-1][1] in _OTHER:
        line, branch = path[-1]
        covered.add((line, branch))
        other = (line, _OTHER[branch])
        if other not in covered and (line not in definition.alone or other in block):
            return None
        path = path[:-1]
        if block[: len(path)] == path:
            return path
    return None


def _not_beside(kept: list[Definition], certain: BlockPath, block: BlockPath) -> list[Definition]:
    """Those left when what another branch of an `if` has bound is dropped, where each turn binds the name before it.

    `certain`: the block, around the place in `block`, of the binding that every turn passes.
    """
    if len(kept) == 1:
        return kept
    most = next((n for n in range(len(certain), len(block)) if block[n][1] == "loop"), len(block))
    return [definition for definition in kept if not _exclusive(definition.block, block, most)]


def _exclusive(one: BlockPath, other: BlockPath, first_loop: int) -> bool:
    """Whether two places stand in different branches of one `if`, without a loop to carry values between them.

    `first_loop`: how many blocks stand around the outermost loop around the other place.
    """
    outermost = min(len(one), first_loop)
    shared = _shared(one, other, outermost)
    if shared == outermost:
        return False
    (line, branch), (other_line, other_branch) = one[shared], other[shared]
    return line == other_line and _OTHER.get(branch) == other_branch


def _shared(one: BlockPath, other: BlockPath, most: int) -> int:
    """How many of the outermost blocks, `most` at most, stand around both places."""
    low, high = 0, most
    if one[:high] == other[:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low
