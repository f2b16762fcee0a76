"""What selections are for, where that needs no size."""

from __future__ import annotations

REDUCED, LOST, WRITTEN, FILLED, CHECKED, COUNTED = "reduced", "lost", "written", "filled", "checked", "counted"
"""A sum or mean is taken of it, or it is counted by value; a loss; it is written back by the same mask; its indices
only fill in a number; it only raises or is told; only how many there are is computed with."""
SCATTERED, STEADY, BY_ROW, ONE_A_ROW = "scattered", "steady", "by row", "one a row"
"""Values that lie one after the other already are laid out by the mask; no data decide over the mask; a loop selects
from one row after the other; of what is selected of each row one is taken, `x[ends].view(n, -1, d)[:, -1]`."""
BY_GROUP, FULL, FIXED = "by group", "full", "fixed"
"""A loop over the samples of a batch selects the rows of one after the other; the mask cannot leave anything out; it is
the same in every turn of the loop around."""
FOUND, ONE_ROW, OWN_STEP = "found", "one row", "own step"
"""The place of one element is read: `(order == wanted).nonzero().item()`; one constant row goes to all places; a step
looks for its own number."""
GROUPS, TALLIED, RANKED = "groups", "tallied", "ranked"
"""A loop goes through the values that occur, and what it does with each one's rows needs no size; how often each value
occurs is stored, or added up, at its place; the largest few of what is selected are taken."""
EACH_LAYER = "each layer"
"""Each attention layer looks for the same places of tokens."""
FIRST = "first"
"""Of the places that a mask finds only the first or the last is taken, if there is one."""
MARKED = "marked"
"""The places that are selected of a tensor of places all take the same number."""
