"""Who calls whom and what is hot, as plain lists: kept between runs, since one file's answer needs all files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, cast

from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.hotness.hotness import Reach
from torchperf_lint.facts.outlines.records import Outline
from torchperf_lint.model import Confidence


def to_json(found: Reach, outlines: Mapping[str, Outline]) -> list[object]:
    """As lists and strings; calls by their place in their outlines."""
    paths = list(outlines)
    number = {path: i for i, path in enumerate(paths)}
    order = {path: {id(call): i for i, call in enumerate(outline.calls)} for path, outline in outlines.items()}
    callers = [
        [number[key.path], key.index, [[number[s.path], order[s.path][id(s.call)]] for s in sites]]
        for key, sites in found.callers.items()
    ]
    functions = [
        [number[key.path], key.index, [getattr(hot, field.name) for field in fields(Hot)]]
        for key, hot in found.functions.items()
    ]
    left = [[number[key.path], key.index] for key in sorted(found.left)]
    return [paths, callers, functions, left]


def from_json(held: object, outlines: Mapping[str, Outline]) -> Reach:
    """What `to_json` wrote. Raises TypeError, ValueError, KeyError, IndexError or AttributeError for anything else."""
    paths, callers, functions, left = cast("list[Any]", held)
    if list(outlines) != paths:
        raise ValueError("of another project")
    calls = [outlines[path].calls for path in paths]
    sizes = [len(outlines[path].functions) for path in paths]

    def key(path: int, function: int) -> FunctionKey:
        if not 0 <= function < sizes[path]:
            raise ValueError("not a function")
        return FunctionKey(paths[path], function)

    who = {key(p, f): tuple([CallSite(paths[q], calls[q][c]) for q, c in sites]) for p, f, sites in callers}
    hot = {key(p, f): _hot(parts) for p, f, parts in functions}
    return Reach(who, hot, frozenset(key(p, f) for p, f in left))


def _hot(held: list[Any]) -> Hot:
    kind, because, when, confidence, path, line, depth, loop, optional, story, evaluates, of = held
    told = tuple([part if isinstance(part, str) else (part[0], part[1]) for part in story])
    around = None if loop is None else (loop[0], loop[1])
    own = None if of is None else (of[0], of[1])
    return Hot(kind, because, when, Confidence(confidence), path, line, depth, around, optional, told, evaluates, own)
