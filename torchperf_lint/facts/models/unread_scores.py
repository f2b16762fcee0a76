"""Scores that `generate` is asked to keep and that nobody reads: logits over the whole vocabulary for each token.

    out = model.generate(**inputs, return_dict_in_generate=True, output_scores=True)
    return tokenizer.decode(out.sequences[0])

The settings may stand elsewhere in the file, in a dictionary or a `GenerationConfig`, and be handed on: then no call of
`generate` in the file may read more, nor may any scores be spoken of.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.files.switches import Mark
from torchperf_lint.facts.models.unread_outputs import parts_read
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_true
from torchperf_lint.patterns import pattern

SCORES = "output_scores"
_AS_DICT = "return_dict_in_generate"
"""Without it `generate` returns the tokens alone, and keeps no scores."""
_TOKENS = frozenset({"sequences", "[0]"})
_SPOKEN = pattern(r"\.scores\b|sequences_scores|transition_scores|[\"']scores[\"']")
_NOTHING = "nothing of the result is read"
_SETTINGS = frozenset({"dict", "GenerationConfig"})


class UnreadScores(NamedTuple):
    """A request for scores: the call of `generate`, or where the settings have it."""

    place: Site | Mark
    read: str
    """What is read of the result, a clause."""


def unread_scores(file: SourceFile) -> Iterator[UnreadScores]:
    """Each request for scores that nothing reads, in no order."""
    if not file.mentions((SCORES,)):
        return
    calls = [call for call in file.outline.calls if call.callee.endswith(".generate")]
    generating = list(file.calls_among(calls))
    asked = [site for site in generating if _asks({k.arg: k.value for k in site.call.keywords})]
    for site in asked:
        read = _only_tokens(file, site)
        if read is not None:
            yield UnreadScores(site, read)
    if _SPOKEN.search(file.text):
        return
    others = [_only_tokens(file, site) for site in generating if site not in asked]
    if others and None not in others:
        read = next((one for one in others if one != _NOTHING), _NOTHING)
        yield from (UnreadScores(mark, str(read)) for mark in _settings(file))


def _asks(said: dict[str | None, ast.expr]) -> bool:
    return all(name in said and is_true(said[name]) for name in (SCORES, _AS_DICT))


def _only_tokens(file: SourceFile, site: Site) -> str | None:
    """What is read of a result, a clause, where that is the tokens or nothing; None where it may be more."""
    parent = file.enclosing(site.function).parents.get(site.call)
    if isinstance(parent, ast.Expr):
        return _NOTHING
    read = parts_read(file, site)
    words = ", ".join(f"`{part}`" for part in read)
    return f"all that is read of the result is {words}" if read and set(read) <= _TOKENS else None


def _settings(file: SourceFile) -> Iterator[Mark]:
    """Where a dictionary or a configuration asks for scores."""
    for number in range(len(file.outline.functions)):
        for node in file.enclosing(number).of_kinds((ast.Dict, ast.Call)):
            if isinstance(node, ast.Dict):
                keys = {key.value: key for key in node.keys if isinstance(key, ast.Constant)}
                values = {getattr(key, "value", None): value for key, value in zip(node.keys, node.values, strict=True)}
                if _asks(values):
                    yield Mark(file, keys[SCORES], number)
            elif isinstance(node, ast.Call) and last_part(chain(node.func)) in _SETTINGS:
                values = {keyword.arg: keyword.value for keyword in node.keywords}
                if _asks(values):
                    yield Mark(file, values[SCORES], number)
