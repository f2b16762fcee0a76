"""Attributes that are moved and called by one method: modules, whatever they are made of, as no tensor is called.

self.affine = self.affine.to(x.device)
shapes = self.affine(frames, x)
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values.value import Value
from torchperf_lint.model import Confidence


def called_like_a_module(site: Site, receiver: ast.Attribute) -> Value | None:
    """The module that `self.affine` of a move is, where the same method calls `self.affine(...)`; else None.

    Only the constructor may set it: another method may choose another module for each step.
    """
    written, outline = chain(receiver), site.file.outline
    if not written.startswith("self.") or not written.removeprefix("self.").isidentifier():
        return None
    calls = (call for call in outline.calls if call.function == site.function and call.callee == written)
    called = next(calls, None)
    if called is None or not _is_set_at_the_start(site, written):
        return None
    because = f"`{written}` is moved, and called on line {called.line}: no tensor is"
    return Value("module", because=because, confidence=Confidence.LIKELY)


def _is_set_at_the_start(site: Site, written: str) -> bool:
    """Whether an attribute gets its value in the constructor, and elsewhere only what it is itself, moved."""
    outline = site.file.outline
    own = outline.functions[site.function].class_index
    bound = [b for b in outline.bindings if b.target == written and outline.functions[b.function].class_index == own]
    made = [b for b in bound if not b.value.startswith(f"{written}.")]
    return own >= 0 and bool(made) and all(outline.functions[b.function].name == "__init__" for b in made)
