"""Metrics and losses that a configuration names: `[getattr(metrics, name) for name in config["metrics"]]`.

No call names such a function; whatever looks it up calls it with the output and the target of every batch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchperf_lint.facts.call_graph.index import FunctionKey, Index
from torchperf_lint.facts.call_graph.types import Types
from torchperf_lint.facts.outlines.records import Mention
from torchperf_lint.facts.roles.role import Role
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_LOOKS_UP = "0:getattr"
_OUTPUT = pattern(r"^(?:outputs?|logits?|preds?|predictions?|y_?(?:pred|hat)s?|inputs?|scores?|probs?)$", re.IGNORECASE)
_TARGET = pattern(r"^(?:targets?|labels?|gts?|y(?:_?true)?|truth|ground_truth|references?)$", re.IGNORECASE)
_OF_LOSSES = pattern(r"(?:^|[/_])(?:loss(?:es)?|metrics?|criteri(?:on|a)s?)(?=[_./])", re.IGNORECASE)
"""Files of nothing but losses and metrics: what their functions compare may have shorter names there."""
_COMPARED = frozenset({("x", "y"), ("p", "q"), ("a", "b"), ("x1", "x2"), ("img1", "img2"), ("pred", "gt")})
_ROLE = Role(
    "update",
    "is given the output and the target of each batch, and is looked up by its name",
    "for every batch",
    Confidence.LIKELY,
)


def looked_up(index: Index, types: Types) -> Iterator[tuple[FunctionKey, Role]]:
    """The functions of modules that a `getattr` takes them from, given an output and a target."""
    seen: set[str] = set()
    for path, outline in index.outlines.items():
        for mention in outline.mentions:
            if mention.kind == "given" and mention.of == _LOOKS_UP:
                for module in _modules(types, path, mention):
                    if module not in seen:
                        seen.add(module)
                        yield from _metrics(index, module, f" ({path}:{mention.line})")


def _modules(types: Types, path: str, mention: Mention) -> Iterator[str]:
    for thing in types.things(path, mention.function, mention.chain):
        if thing.kind == "module":
            yield thing.path


def _metrics(index: Index, module: str, place: str) -> Iterator[tuple[FunctionKey, Role]]:
    outline = index.outlines[module]
    for kind, number in outline.tops.values() if outline.imports_from("torch") else ():
        if kind != "function":
            continue
        names = [p.name for p in outline.functions[number].parameters[:2]]
        if len(names) == 2 and _compares(module, names[0], names[1]):
            yield FunctionKey(module, number), _ROLE._replace(because=_ROLE.because + place)


def _compares(module: str, first: str, second: str) -> bool:
    """Whether a function of a module is given an output and a target, by what it calls them."""
    short = (first.lower(), second.lower()) in _COMPARED and _OF_LOSSES.search(module) is not None
    return short or (_OUTPUT.search(first) is not None and _TARGET.search(second) is not None)
