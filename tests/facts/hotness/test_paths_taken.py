"""A reason names callers that get to the line."""

from __future__ import annotations

import pytest
from snippets import hot_at

MODES = """
class Codec(nn.Module):
    def forward(self, x):
        return self.decode(x, mode="forward")

    def decompress(self, x):
        return self.decode(x, mode="stream")

    def decode(self, x, *, mode):
        if mode == "stream":
            x = unpack(x)
        return x


def unpack(x):
    return x.max().item()  # <-


class Player:
    def play(self, codec: Codec, x):
        {play}
"""


@pytest.mark.parametrize(
    ("play", "named"),
    [
        ("pass", None),
        ("for x in DataLoader(x): codec.decompress(codec(x))", "`Codec.decompress`"),
        ("for x in DataLoader(x): codec.decode(codec(x), mode='stream')", "`Codec.decode`"),
    ],
)
def test_what_a_hot_caller_asks_otherwise_waits_for_one_that_gets_there(play, named):
    hot = hot_at(MODES.format(play=play))
    if named is None:
        assert hot is None
    else:
        assert hot is not None
        assert named in hot.because
        assert "Codec.forward" not in hot.because


INSIDE = """
class First(nn.Module):
    def forward(self, x):
        return wave(x, "float")


class Second(nn.Module):
    def forward(self, x):
        return wave(x, "int")


def wave(x, kind):
    if kind == "int":
        x = x[x > 0]  # <-
    return x
"""


def test_a_branch_is_told_of_the_caller_that_takes_it():
    hot = hot_at(INSIDE)
    assert hot is not None
    assert "by `Second.forward`" in hot.because


BY_DEFAULT = """
class Measure(nn.Module):
    def __init__(self, dim{default}):
        super().__init__()
        self.dim = {kept}

    def forward(self, x):
        return count(x, self.dim)


def count(x, dim):
    if dim is None:
        return x.sum().item()  # <-
    return x.sum(dim)
"""


@pytest.mark.parametrize(
    ("default", "kept", "taken"),
    [
        ("=None", "dim", True),
        ("=None", "tuple(dim) if isinstance(dim, list) else dim", True),
        ("=0", "dim", False),
        ("", "dim", False),
        ("=None", "len(dim)", False),
    ],
)
def test_a_branch_for_none_is_taken_by_what_an_object_holds_by_default(default, kept, taken):
    assert (hot_at(BY_DEFAULT.format(default=default, kept=kept)) is not None) is taken
