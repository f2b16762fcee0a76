"""Pipelines and encoders that take whole lists and are called for one element after the other.

for text in texts:
    results.append(classify(text))        # a `transformers.pipeline`
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.hotness.loop import FEW_TURNS
from torchperf_lint.facts.outlines.guards import literal_turns
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.facts.syntax.syntax import names_of
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_PIPELINE = pattern(r"^transformers\.(?:pipelines\.)?(?:pipeline|\w+Pipeline)\(\)$")
_ENCODES = pattern(r"^sentence_transformers\.(?:SentenceTransformer|SparseEncoder)\(\)\.encode(?:_query|_document)?$")
_EMBEDS = pattern(r"^langchain\w*\.(?:\w+\.)*HuggingFace\w*Embeddings\(\)\.embed_query$")
_WRITES = pattern(
    r"[\"'](?:text-generation|text2text-generation|summarization|translation\w*|conversational|image-to-text|"
    r"image-text-to-text|automatic-speech-recognition|text-to-\w+|any-to-any)[\"']"
)
"""Tasks that decode: where lengths differ much, a batch waits for its longest."""
_BATCHES = pattern(
    r"batch|chunk|bucket|group|page|shard|block|(?<!to)list\b|window|loader|"
    r"(?:^|[._])(?:input|stdin|stream|camera|queue|session|live|turn|message|socket)s?\b",
    re.IGNORECASE,
)
"""Turns that hand over many at once, or one as it arrives."""
_MANY_EACH = pattern(
    r"(?:batche|chunk|bucket|group|page|shard|block|list|window)s|"
    r"loader|(?:^|[._])(?:input|stdin|stream|camera|queue|session|live|turn|message|socket)s?\b",
    re.IGNORECASE,
)
"""Names of what has many in each element, or comes as it arrives; `batch` and `sentence_list` have one in each."""
_COUNTS = frozenset({"range", "trange"})
Loop = ast.For | ast.AsyncFor | ast.comprehension


class OneByOne(NamedTuple):
    """A call for one element where all could be handed over."""

    site: Site
    what: str
    """pipeline, encode or embed_query."""
    element: str
    hot: Hot


def one_by_one(file: SourceFile) -> Iterator[OneByOne]:
    """Each such call in a loop over what is there before it, in order."""
    for call in file.outline.calls:
        what = _kind_of(file, call)
        for site in file.calls_among((call,)) if what else ():
            found = _found(file, site, what)
            if found is not None:
                yield found


def _found(file: SourceFile, site: Site, what: str) -> OneByOne | None:
    found = _element(file, site) if site.call.args else None
    if found is None:
        return None
    loop, element = found
    turns = f"in every turn of the loop at line {_line(loop)}"
    sure = what != "pipeline" or not _WRITES.search(file.text)
    known = Confidence.LIKELY if sure and not _stops(loop) else Confidence.POSSIBLE
    hot = Hot("eval", f"it runs {turns}, each with one element", turns, known, file.path, _line(loop))
    return OneByOne(site, what, element, hot)


def _kind_of(file: SourceFile, call: Call) -> str:
    thing = file.project.types.thing(file.path, call.function, call.callee)
    return _kind(thing.dotted) if thing is not None and thing.kind == "external" else ""


def _kind(dotted: str) -> str:
    if _PIPELINE.match(dotted):
        return "pipeline"
    if _ENCODES.match(dotted):
        return "encode"
    return "embed_query" if _EMBEDS.match(dotted) else ""


def _line(loop: Loop) -> int:
    return loop.target.lineno


def _element(file: SourceFile, site: Site) -> tuple[Loop, str] | None:
    """The loop whose one element is what a call is given, and the element as written."""
    if site.keyword("batch_size") is not None:
        return None
    for loop in file.enclosing(site.function).loops(site.call):
        turns = literal_turns(loop.iter)
        if isinstance(loop, ast.AsyncFor) or (turns is not None and turns <= FEW_TURNS):
            return None
        given = site.call.args[0]
        given = given.elts[0] if isinstance(given, ast.List) and len(given.elts) == 1 else given
        if _is_one(file, site, loop, given):
            return loop, file.brief(given)
    return None


def _is_one(file: SourceFile, site: Site, loop: Loop, given: ast.expr) -> bool:
    """Whether an expression is one element of what a loop goes over, and not a batch."""
    if re.search(r"\bframe\b", ast.unparse(loop.target)):  # of a video, as it comes
        return False
    own = names_of(loop.target)
    names = names_of(given)
    counted = isinstance(loop.iter, ast.Call) and ast.unparse(loop.iter.func) in _COUNTS
    held = _MANY_EACH if isinstance(loop.iter, ast.Name | ast.Attribute) else _BATCHES
    if _BATCHES.search(ast.unparse(loop.target)) or held.search(ast.unparse(loop.iter)) or not names & own:
        return False
    if any(isinstance(n, ast.Slice | ast.Call | ast.ListComp | ast.GeneratorExp) for n in ast.walk(given)):
        return False
    if counted:  # `texts[i]`, one index after the other
        steps = len(loop.iter.args) if isinstance(loop.iter, ast.Call) else 0
        return isinstance(given, ast.Subscript) and isinstance(given.slice, ast.Name) and steps < 3
    if not isinstance(given, ast.Name | ast.Subscript | ast.Attribute):
        return False
    return file.value(given, site).kind not in ("sequence", "tensor") and not _named_many(given)


def _named_many(given: ast.expr) -> bool:
    """`example["sentences"]`: many, by its name."""
    last = given.slice if isinstance(given, ast.Subscript) else given
    named = str(last.value) if isinstance(last, ast.Constant) else ast.unparse(last).rpartition(".")[2]
    return bool(_BATCHES.search(named)) or (named.endswith("s") and not named.endswith("ss"))


def _stops(loop: Loop) -> bool:
    """Whether a turn may be the last, so that the elements behind it need not be computed."""
    return isinstance(loop, ast.For) and any(isinstance(n, ast.Break | ast.Return) for n in ast.walk(loop))
