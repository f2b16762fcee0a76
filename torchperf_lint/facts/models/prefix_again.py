"""Decoding that computes the whole prefix again for every new token.

    for _ in range(n):
        logits = model(ids).logits[:, -1]
        ids = torch.cat([ids, logits.argmax(-1, keepdim=True)], dim=1)

Told by three things together: the tokens that a turn appends to are those that the model is given whole, only the last
position of what it gives is read, and nothing in the loop speaks of a cache.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.hotness.loop import FEW_TURNS
from torchperf_lint.facts.outlines.guards import literal_turns
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.facts.syntax.arguments import arguments
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_literal
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

Loop = ast.For | ast.While
_CACHES = pattern(r"past|cache|kv|incremental|state|mems\b|memory", re.IGNORECASE)
"""What decoding with a cache speaks of."""
_NO_CACHE = pattern(r"mamba|rwkv|hyena|s4|lstm|gru|rnn|diffusion|llada|dream|bert(?!lm)|checkpointing", re.IGNORECASE)
"""Models that have none, or keep another kind of state."""
_LOGITS = frozenset({"logits"})


class Recomputed(NamedTuple):
    """A call that runs over all tokens for each new one."""

    site: Site
    tokens: str
    line: int
    """Of the loop."""
    confidence: Confidence


def generated_without_cache(file: SourceFile) -> Iterator[Site]:
    """Each `generate(..., use_cache=False)` and `GenerationConfig(use_cache=False)` of more than one token."""
    for site in file.calls_among([c for c in file.outline.calls if last_part(c.callee) in _TAKES_IT]):
        off, most = site.keyword("use_cache"), site.keyword("max_new_tokens")
        one = is_literal(most, 1)
        if not isinstance(off, ast.Constant) or off.value is not False or one:
            continue
        if not _NO_CACHE.search(file.source(site.call)) and "checkpointing" not in file.text:
            yield site


_TAKES_IT = frozenset({"generate", "GenerationConfig"})


def recomputed(file: SourceFile) -> Iterator[Recomputed]:
    """Each call in a loop of tokens that are given to it whole, in order."""
    for site in file.calls_of("torch.cat", "torch.concat", "torch.hstack"):
        tokens = _appended_to(file, site)
        loop = _loop(file, site) if tokens else None
        if loop is None or _speaks_of_more(file, site, loop):
            continue
        for call in _calls_with(loop, tokens):
            run = next(file.calls_among([c for c in file.outline.calls if _is_at(file, c, call)]), None)
            known = _confidence(file, run, loop) if run is not None else None
            if run is not None and known is not None:
                yield Recomputed(run, tokens, loop.lineno, known)


def _appended_to(file: SourceFile, site: Site) -> str:
    """The name of tokens that a statement makes longer: `ids = torch.cat([ids, new], dim=1)`."""
    statement = file.enclosing(site.function).statement(site.call)
    parts = site.call.args[0] if site.call.args else None
    if not isinstance(statement, ast.Assign) or statement.value is not site.call or len(statement.targets) != 1:
        return ""
    target = statement.targets[0]
    first = parts.elts[0] if isinstance(parts, ast.List | ast.Tuple) and len(parts.elts) == 2 else None
    same = isinstance(target, ast.Name) and isinstance(first, ast.Name) and target.id == first.id
    return target.id if same and isinstance(target, ast.Name) else ""


def _loop(file: SourceFile, site: Site) -> Loop | None:
    loop = next(
        (a for a in file.enclosing(site.function).around(site.call) if isinstance(a, ast.For | ast.While)), None
    )
    turns = literal_turns(loop.iter) if isinstance(loop, ast.For) else None
    return None if turns is not None and turns <= FEW_TURNS else loop


def _speaks_of_more(file: SourceFile, site: Site, loop: Loop) -> bool:
    """Whether a cache is at work, or the model has none to use, or the loop trains."""
    text = file.source(loop)
    name = file.outline.functions[site.function].qualname
    return bool(_CACHES.search(text) or _NO_CACHE.search(text) or _NO_CACHE.search(name)) or ".backward(" in text


def _calls_with(loop: Loop, tokens: str) -> Iterator[ast.Call]:
    for node in ast.walk(loop):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            given = arguments(node)
            if any(isinstance(part, ast.Name) and part.id == tokens for part in given):
                yield node


def _is_at(file: SourceFile, record: Call, call: ast.Call) -> bool:
    return (record.line, record.column) == file.span(call)[0] and record.callee == chain(call.func)


def _confidence(file: SourceFile, run: Site, loop: Loop) -> Confidence | None:
    """How sure it is that a call runs a model with a cache, of whose result only the last position is read."""
    if file.value(run.call.func, run).kind not in ("module", "unknown") or not _reads_last_only(file, run, loop):
        return None
    thing = file.project.types.thing(file.path, run.function, run.record.callee)
    if thing is not None and _NO_CACHE.search(thing.dotted):
        return None
    if thing is not None and thing.dotted.startswith("transformers."):
        return Confidence.LIKELY
    if not _gives_logits(file, run, loop) or (thing is not None and not _takes_cache(file, thing)):
        return None
    return Confidence.LIKELY


def _takes_cache(file: SourceFile, thing: Thing) -> bool:
    """Whether a model of the project has a parameter for what it computed before."""
    forward = file.project.index.method(thing, "forward") if thing.kind == "instance" else None
    if forward is None:
        return False
    return any(_CACHES.search(p.name) for p in file.project.index.function(forward).parameters)


def _results(file: SourceFile, run: Site, loop: Loop) -> list[ast.expr]:
    """Where the loop reads what a call gives."""
    statement = file.enclosing(run.function).statement(run.call)
    found: list[ast.expr] = [run.call]
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        name = statement.targets[0].id
        found += [n for n in ast.walk(loop) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
    return found


def _gives_logits(file: SourceFile, run: Site, loop: Loop) -> bool:
    """`model(ids).logits`, as models of transformers give them, which all of those that decode have a cache."""
    parents = file.enclosing(run.function).parents
    around = [parents.get(node) for node in _results(file, run, loop)]
    return any(isinstance(a, ast.Attribute) and a.attr in _LOGITS for a in around)


def _reads_last_only(file: SourceFile, run: Site, loop: Loop) -> bool:
    """`[:, -1]` of what a call gives, or of the name that it or its logits are bound to, and no other position."""
    names = {chain(n) for n in _results(file, run, loop)[1:]}
    for _ in range(2):
        for node in ast.walk(loop):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute | ast.Subscript):
                of = node.value.value
                if isinstance(of, ast.Name) and of.id in names and isinstance(node.targets[0], ast.Name):
                    names.add(node.targets[0].id)
    own = set(ast.walk(run.call))
    cut = [n for n in ast.walk(loop) if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Load) and n not in own]
    return any(_takes_last(n.slice) and (_root(n.value) in names or run.call in ast.walk(n.value)) for n in cut)


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _takes_last(index: ast.expr) -> bool:
    parts = index.elts if isinstance(index, ast.Tuple) else []
    return len(parts) > 1 and isinstance(parts[1], ast.UnaryOp) and ast.unparse(parts[1]) == "-1"
