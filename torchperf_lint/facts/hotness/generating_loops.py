"""Loops that have a language model write something for each of their inputs: `model.generate(**inputs)`.

`generate` of transformers switches gradients off itself, so nothing in the loop says that it does not train.
"""

from __future__ import annotations

import re

from torchperf_lint.facts.call_graph.direct_calls import DirectCalls
from torchperf_lint.facts.call_graph.index import Index
from torchperf_lint.facts.call_graph.module_calls import MODEL_NAME
from torchperf_lint.facts.call_graph.types import Types
from torchperf_lint.facts.hotness.loop import EVERY_BATCH, EVERY_INPUT, Loop
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.facts.outlines.signatures import IN_BATCHES
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_GENERATES = pattern(r"^(?P<model>[\w.]+)\.generate$")
_LANGUAGE_MODEL = pattern(r"(?:^|[._])(?:llm|lm|vlm|mllm)$", re.IGNORECASE)
_INPUTS = pattern(
    r"(?:^|[._])(?:texts?|sentences?|samples|images|inputs|prompts|chunks|utterances|audios|(?:mini_?)?batches|"
    r"queries|questions|passages|documents|docs|examples|requests|conversations|messages|tasks|data_?(?:set|loader)|"
    r"loader|dl|iterrows|itertuples)(?:\(\))?$",
    re.IGNORECASE,
)
_WRITERS = ("transformers", "peft", "unsloth", "auto_gptq", "optimum")
"""Libraries whose models have such a `generate`."""


def generates_each_turn(
    index: Index, types: Types, calls: DirectCalls, path: str, number: int, inputs: str
) -> Loop | None:
    """What a loop over `inputs`, by their name or cut into batches, is that has a model answer each; else None."""
    region = index.outlines[path].regions[number]
    if region.iterable != IN_BATCHES and not _INPUTS.search(inputs):
        return None
    for call in calls.directly_in(path, number):
        written = _generates(index, call) or _by_one_that_does(index, types, calls, call, path)
        if written:
            because = f"has `{written}()` write something each turn (line {call.line}), which computes no gradients"
            when = EVERY_BATCH if region.iterable == IN_BATCHES else EVERY_INPUT
            return Loop("eval", because, Confidence.LIKELY, region.head, when)
    return None


def _generates(index: Index, call: Call) -> str:
    found = _GENERATES.match(call.callee)
    if found is None or not (MODEL_NAME.search(found["model"]) or _LANGUAGE_MODEL.search(found["model"])):
        return ""
    return call.callee if any(outline.imports_from(*_WRITERS) for outline in index.outlines.values()) else ""


def _by_one_that_does(index: Index, types: Types, calls: DirectCalls, call: Call, path: str) -> str:
    """What a function of the project, which a call runs, generates with."""
    for target in types.targets(path, call.function, call.callee):
        for inner in calls.directly_in(target.path, index.function(target).region):
            written = _generates(index, inner)
            if written:
                return written
    return ""
