"""Attention written out as product, softmax and product, where nothing else needs the weights.

    att = (q @ k.transpose(-2, -1)) * scale
    att = att.masked_fill(mask == 0, float("-inf")).softmax(dim=-1)
    y = self.dropout(att) @ v

From the softmax the scores are followed back to one product, the weights on to the other.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.models.attention_layouts import rank_of
from torchperf_lint.facts.models.attention_scores import ScoresBehind
from torchperf_lint.facts.models.weights_used import Uses
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import literal_of

_FUNCTIONS = frozenset({"torch.softmax", "torch.nn.functional.softmax", "torch.special.softmax"})
_NAMED = ("softmax", "stable_softmax", "safe_softmax", "softmax_no_cast", "softmax_fp32")
"""Functions of one's own that guard against overflow, or keep the dtype, and are softmaxes else."""


class Attention(NamedTuple):
    """A softmax between the two products."""

    site: Site
    queries: ast.expr
    keys: ast.expr
    masked: bool
    biased: bool
    """Whether something that is no mask is added to the scores."""
    by_channels: bool
    """Whether queries and keys hold a channel in a row, not a position: `einsum("b d i, b d j -> b i j", q, k)`."""
    flags: tuple[str, ...] = ()
    """What has to be set for the weights to be needed elsewhere."""
    transposed: bool = True
    """Whether queries and keys lie as the fused attention takes them: the product transposes the keys itself."""
    zeroed: bool = False
    """Whether the weights of rows that may attend to nothing are set to zero."""
    kept: tuple[str, ...] = ()
    """Attributes that keep the weights, as written, and that nothing in the project reads."""
    dropout: str = ""
    """What drops weights on the way to the product, as written."""
    rank: int | None = None
    """How many dimensions the queries have, as far as is seen; the fused kernels take four (torch 2.13, sdp_utils)."""
    scoring: tuple[ast.expr, ...] = ()
    """The product of queries with keys, on each way to the softmax."""
    weighing: tuple[ast.expr, ...] = ()
    """The product of the weights with the values."""


def written_out(file: SourceFile) -> Iterator[Attention]:
    """The hot softmaxes of a file between the two products of attention, their weights used for nothing else."""
    own = _own_softmaxes(file)
    for site in file.hot_calls(*_NAMED, "Softmax", *own):
        if site.hot is None or site.hot.kind == "data":
            continue
        scored, dim = _scored(site, own)
        back = ScoresBehind(site)
        if scored is None or dim is None or not back.follow(scored, site.frame.at) or back.root is None:
            continue
        axis = dim if dim < 0 else _from_the_last(dim, back)
        if axis not in back.root.of_keys:
            continue
        uses = Uses(site, axis)
        masked = back.masked or _fills(site)
        if uses.only_weigh() and (masked or not uses.zeroed):
            root = back.root
            flags = tuple(dict.fromkeys((*uses.flags, *uses.asked)))
            transposed = not (root.by_channels or root.as_they_lie or root.rank == 3)
            kept = tuple(sorted(set(uses.kept)))
            both, biased, channels = (root.queries, root.keys), back.biased, root.by_channels
            rank, zeroed = root.rank or _shaped(site, root.queries), uses.zeroed
            ways = (tuple(back.products), tuple(uses.products))
            yield Attention(
                site, *both, masked, biased, channels, flags, transposed, zeroed, kept, uses.dropout, rank, *ways
            )


def _shaped(site: Site, queries: ast.expr) -> int | None:
    body = site.file.project.body(site.file.path)
    return rank_of(body, site.function, queries, body.at(queries)) if body is not None else None


def _from_the_last(dim: int, back: ScoresBehind) -> int:
    """A dimension counted from the last; of scores with heads, of which nothing tells how many they have, 3 is it."""
    assert back.root is not None
    rank = back.root.rank if not back.reshaped else None
    return dim - (rank or 4)


def _fills(site: Site) -> bool:
    """Whether a statement of its own masks: `dots.masked_fill_(~mask, low)`."""
    calls = site.file.enclosing(site.function).of_kinds((ast.Call,))
    return any(last_part(chain(call.func)) == "masked_fill_" for call in calls if isinstance(call, ast.Call))


def _own_softmaxes(file: SourceFile) -> dict[str, int]:
    """Attributes that are set to an `nn.Softmax`, and over which dimension."""
    found = re.findall(r"self\.(\w+)\s*=\s*(?:torch\.)?(?:nn\.)?Softmax\(\s*(?:dim\s*=\s*)?(-?\d)\s*\)", file.text)
    return {name: int(dim) for name, dim in found}


def _scored(site: Site, own: dict[str, int]) -> tuple[ast.expr | None, int | None]:
    """What a softmax is taken of, and over which dimension; None where that is not seen."""
    call, name = site.call, last_part(site.record.callee)
    if name == "Softmax" or (name in own and site.record.callee.startswith("self.")):
        if len(call.args) != 1 or call.keywords:
            return None, None
        if name in own and name != "Softmax":
            return call.args[0], own[name]
        made = call.func  # `nn.Softmax(dim=-1)(scores)`
        dim = [*made.args, *(k.value for k in made.keywords)] if isinstance(made, ast.Call) else []
        return call.args[0], _integer(dim[0]) if len(dim) == 1 else None
    method = site.file.denotes(call.func, site) not in _FUNCTIONS and site.receiver is not None
    arguments = [site.receiver, *call.args] if method else [*call.args]
    written = site.keyword("dim") or (arguments[1] if len(arguments) > 1 else None)
    return (arguments[0], _integer(written)) if arguments and written is not None else (None, None)


def _integer(node: ast.expr) -> int | None:
    said = literal_of(node)
    return said if type(said) is int else None
