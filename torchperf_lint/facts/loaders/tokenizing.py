"""Tokenizers of text: which calls turn text into tokens, and which functions `datasets.map` runs."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.patterns import pattern

NAMES = ("tokenizer", "tok", "tokenize", "encode", "encode_plus", "batch_encode_plus", "_tokenizer")
"""Last names that a call of a tokenizer may have."""
_METHODS = frozenset({"encode", "encode_plus", "batch_encode_plus", "tokenize"})
_NAMED = pattern(r"(?:^|_)(?:tokeni[sz]er|tok)(?:_\w+)?$", re.IGNORECASE)
_ARGUMENTS = frozenset({"truncation", "padding", "max_length", "return_tensors", "add_special_tokens", "text_pair"})
"""Keywords that say a thing is a tokenizer of text: those of images and sounds have others."""
_TOKENS = pattern(r"^(?:\w+\.)*(?:[Ll]ist|Sequence|Iterable)\[int\]$")
_LIBRARIES = ("transformers.", "tokenizers.", "tiktoken.", "sentencepiece.")


class Mapped(NamedTuple):
    """A call `data.map(function)` and the function, as far as the file shows it."""

    site: Site
    function: int | None
    """The function's number in the outline, None for a lambda."""
    given: ast.expr


def tokenizes(site: Site) -> bool:
    """Whether a call turns text into tokens: of a tokenizer by its class, or by its name and what it is given."""
    if _is_tokens(site):
        return False
    called = site.call.func
    method = isinstance(called, ast.Attribute) and called.attr in _METHODS
    tokenizer = called.value if isinstance(called, ast.Attribute) and method else called
    thing = site.file.project.values.thing(tokenizer, site.frame)
    if thing is not None and thing.kind == "external" and thing.dotted.startswith(_LIBRARIES):
        return "okenizer" in thing.dotted or not thing.dotted.startswith("transformers.")
    if thing is not None and thing.kind in ("instance", "function", "class"):
        return False
    given = {k.arg for k in site.call.keywords}
    return bool(_NAMED.search(last_part(chain(tokenizer)))) and bool(site.call.args) and bool(given & _ARGUMENTS)


def _is_tokens(site: Site) -> bool:
    """Whether what a call is given is a parameter that holds tokens already: `def shorten(self, ids: list[int])`."""
    first = site.call.args[0] if site.call.args else None
    parameters = site.file.outline.functions[site.function].parameters
    hint = next((p.annotation for p in parameters if isinstance(first, ast.Name) and p.name == first.id), "")
    return bool(_TOKENS.search(hint))


def mapped(file: SourceFile) -> list[Mapped]:
    """The calls `data.map(function)` of a file whose function is one of the file, or a lambda."""
    return file.once(_mapped)


def _mapped(file: SourceFile) -> list[Mapped]:
    records = [call for call in file.outline.calls if call.callee.endswith(".map")]
    found = []
    for site in file.calls_among(records):
        given = site.call.args[0] if site.call.args else site.keyword("function")
        if isinstance(given, ast.Lambda):
            found.append(Mapped(site, None, given))
        elif given is not None:
            targets = file.project.types.targets(file.path, site.function, chain(given))
            found += [Mapped(site, key.index, given) for key in targets[:1] if key.path == file.path]
    return found


def map_around(site: Site) -> Mapped | None:
    """The `data.map(function)` whose function a call stands in; None where there is none."""
    for one in mapped(site.file):
        if one.function == site.function and one.function:
            return one
        if one.function is None:
            start, end = site.file.span(one.given)
            if one.site.function == site.function and start <= site.start < end:
                return one
    return None
