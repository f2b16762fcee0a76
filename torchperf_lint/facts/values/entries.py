"""Entries of a dict that are taken by a text, `out["loss"]`: what was put there, and not what all entries are."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.devices.moved_in_place import moved_in_place
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.syntax.literals import is_text
from torchperf_lint.facts.values.entries_of_attributes import entry_of_attribute
from torchperf_lint.facts.values.value import DEVICE, HOST, UNKNOWN, Frame, Value, is_mapping, join, mapping, sequence
from torchperf_lint.patterns import pattern

if TYPE_CHECKING:
    from torchperf_lint.facts.bindings.bodies import Body
    from torchperf_lint.facts.values.values import Values

_WORDS = pattern(
    r"^(?:\w+_)?(?:metas?|metadata|meta_?data|paths?|file_?names?|names?|texts?|captions?|sentences?|prompts?|"
    r"transcripts?|words|uris?|urls?|smiles|pdb_?ids?)$"
)
"""Keys and attributes of a batch under which texts and records are, which nothing makes a tensor of."""
_ENTRIES = 8
_WRITES = 6
"""How many of the values that are put under one key are looked at."""


def holds_texts(key: str) -> bool:
    """Whether what a batch has under a key, or as an attribute, are texts by its name: `batch["caption"]`."""
    return _WORDS.search(key) is not None


def named_entries(node: ast.Dict, items: list[Value]) -> tuple[tuple[str, Value], ...]:
    """(key, value) for each entry of a literal dict whose key is a text; nothing where others may come over them."""
    if any(key is None for key in node.keys):
        return ()
    pairs = zip(node.keys, items, strict=False)
    return tuple((k.value, v) for k, v in pairs if isinstance(k, ast.Constant) and isinstance(k.value, str))


def made_of_keywords(values: Values, node: ast.Call, frame: Frame) -> Value | None:
    """What `dict(x=images, y=labels)` makes, of tensors by name; None where it is given anything else.

    What else such a dict begins with says nothing of what is put into it later: `dict(count=0)`.
    """
    if node.args or not node.keywords:
        return None
    given = [(keyword.arg, values.of(keyword.value, frame)) for keyword in node.keywords[:_ENTRIES]]
    named = tuple((name, value) for name, value in given if name is not None and value.kind in ("tensor", "batch"))
    return mapping(any_entry([value for _, value in named]), named) if len(named) == len(given) else None


def made_by_dict(values: Values, node: ast.Call, frame: Frame) -> Value:
    """What `dict(...)` makes, of keywords or of pairs."""
    if not node.args:
        return made_of_keywords(values, node, frame) or sequence(UNKNOWN)
    return _made_of_pairs(values, values.of(node.args[0], frame), frame)


def _made_of_pairs(values: Values, pairs: Value, frame: Frame) -> Value:
    """What `dict(zip(names, batch))` makes: a dict of the second of each pair, where those are tensors."""
    pair = values.element(pairs, frame) if pairs.kind == "sequence" and not is_mapping(pairs) else UNKNOWN
    held = pair.items[1] if pair.kind == "sequence" and len(pair.items) == 2 else UNKNOWN
    return mapping(held) if held.kind in ("tensor", "batch") else UNKNOWN


def is_stored_by_attribute(values: Values, node: ast.Call, frame: Frame) -> bool:
    """Whether the function stores `d.loss = ...` in what a call makes: classes of dicts take that for `d["loss"]`."""
    body = values.body(frame.path)
    function = body.functions.get(frame.function) if body is not None else None
    if body is None or function is None:
        return True
    named = {name for name, found in body.definitions(frame.function).items() if any(d.value is node for d in found)}
    stored = (n.value for n in ast.walk(function) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store))
    return any(isinstance(base, ast.Name) and base.id in named for base in stored)


def any_entry(items: list[Value]) -> Value:
    """What a loop over the entries of a dict gets: parts of a batch, where what else there is lies on the host too."""
    batches = [value for value in items if value.kind == "batch"]
    on_host = all(value.kind in ("batch", "tensor") and value.device == HOST for value in items)
    return join(batches if batches and on_host else items)


def entry_of(values: Values, node: ast.Subscript, base: Value, frame: Frame) -> Value | None:
    """What is known to be under the text that `node` asks for; None where nobody can say."""
    if not is_text(node.slice):
        return None
    key = node.slice.value  # type: ignore[attr-defined]
    if base.kind in ("batch", "tensor"):
        return UNKNOWN if holds_texts(key) else _moved_entry(values, node, key, base, frame)
    if base.kind != "sequence":
        return None
    if isinstance(node.value, ast.Attribute) and (kept := entry_of_attribute(values, node, base, frame)) is not None:
        return kept
    stored, always = _put_here(values, node, key, frame)
    literal = [value for name, value in base.entries if name == key and not always]
    return join([*literal, *stored]) if literal or always else None


def _moved_entry(values: Values, node: ast.Subscript, key: str, batch: Value, frame: Frame) -> Value | None:
    """`batch["x"]` after `batch["x"] = batch["x"].to(device)`; None where nothing was put there, on the device."""
    if batch.levels:
        return _put_since(values, node, key, frame)
    if batch.kind != "batch" or batch.device != HOST:
        return None
    stored, always = _put_here(values, node, key, frame)
    found = join(stored) if always else UNKNOWN
    return found if found.kind == "tensor" and found.device == DEVICE else None


def _put_since(values: Values, node: ast.Subscript, key: str, frame: Frame) -> Value | None:
    """What was put under a key after all entries had been moved, `batch["n"] = batch["n"].cpu()`; None for nothing."""
    body = values.body(frame.path)
    if body is None or not isinstance(node.value, ast.Name):
        return None
    moved = moved_in_place(values, node.value.id, frame, body)
    if moved is None:
        return None
    stored, always = _put_here(values, node, key, frame, body.at(moved.statement, end=True))
    return join(stored) if always else UNKNOWN if stored else None


def put_into(values: Values, name: str, body: Body, frame: Frame) -> tuple[tuple[str, Value], ...]:
    """The entries of a dict that starts empty, where a function puts in all of them under texts."""
    put = body.put_under(frame.function, name)
    if sum(map(len, put.values())) < len(body.stored_items(frame.function, name)) or len(put) > _ENTRIES:
        return ()
    return tuple(
        (key, join([values.of(node, frame.hop(frame.path, frame.function, body.at(node))) for node in nodes[:_WRITES]]))
        for key, nodes in put.items()
    )


def _put_here(
    values: Values, node: ast.Subscript, key: str, frame: Frame, since: Position = (0, 0)
) -> tuple[list[Value], bool]:
    """What the function itself puts there, `out["loss"] = loss`, and whether it always does before it is asked for."""
    return put_there(values, node.value.id, key, frame, since) if isinstance(node.value, ast.Name) else ([], False)


def put_there(
    values: Values, name: str, key: str, frame: Frame, since: Position = (0, 0)
) -> tuple[list[Value], bool]:
    """What a function puts under a key of what a name stands for, and whether it always does before a place in it."""
    body = values.body(frame.path)
    if body is None:
        return [], False
    found: list[ast.expr] = []
    around = body.block_of(frame.function, frame.at)
    written = body.put_under(frame.function, name).get(key, ())
    before = [value for value in written if since < body.at(value) < frame.at]
    before = [value for value in before if not bound_again(body, frame, name, value)]
    for value in reversed(before[-_WRITES:]):
        if body.at(value, end=True) >= frame.at:
            continue  # `out["x"] = out["x"].cpu()` asks for what was there before
        found.append(value)
        block = body.block_of(frame.function, body.at(value))
        if around[: len(block)] == block:
            return [_as_put(values, v, body, frame) for v in found], True
    return [_as_put(values, v, body, frame) for v in found], False


def bound_again(body: Body, frame: Frame, name: str, stored: ast.expr) -> bool:
    """Whether a name may stand for another container since something was put into the one that it stood for."""
    put = body.at(stored)
    block = body.block_of(frame.function, put)
    return any(
        d.end > put and (d.at < frame.at or block[: len(d.block)] != d.block)  # at the end of a turn, the next one puts
        for d in body.reaching(frame.function, name, frame.at) or ()
    )


def _as_put(values: Values, stored: ast.expr, body: Body, frame: Frame) -> Value:
    """What was put under a key, which is kept: each entry may be made of several reads of the one above it."""
    there = frame.back(body.at(stored))
    return values.remembered(("entry", *there[:3]), there, lambda at: values.of(stored, at))
