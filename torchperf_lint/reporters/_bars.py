"""A bar of characters whose parts are shares of a whole."""

from __future__ import annotations

from collections.abc import Sequence


def cells(shares: Sequence[float], width: int) -> list[int]:
    """How many of `width` characters each share gets: in proportion, by largest remainder.

    A share above 0 gets at least one while there are characters for all. Shares that add up to less than 1 leave the
    rest of the bar empty.
    """
    wanted = [share * width for share in shares]
    counts = [int(want) for want in wanted]
    total = min(round(sum(wanted)), width)
    by_remainder = sorted(range(len(wanted)), key=lambda n: (counts[n] - wanted[n], n))
    for n in by_remainder[: max(total - sum(counts), 0)]:
        counts[n] += 1
    return _none_hidden(shares, counts)


def _none_hidden(shares: Sequence[float], counts: list[int]) -> list[int]:
    """Take characters from the longest parts for those that have none."""
    for n, share in enumerate(shares):
        longest = max(range(len(counts)), key=lambda m: counts[m])
        if share > 0 and not counts[n] and counts[longest] > 1:
            counts[longest] -= 1
            counts[n] = 1
    return counts
