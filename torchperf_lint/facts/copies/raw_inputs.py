"""Passes that are given what no tensor is, text or pictures: they answer whoever asked, and train nothing.

    def forward(self, phonemes: str, voice: torch.Tensor):
        ids = torch.LongTensor([self.vocab[p] for p in phonemes]).to(self.device)
        ...
        return audio.cpu()
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.hints import SEQUENCES, annotation_words
from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.enclosing import Enclosing

_RAW = frozenset({"str", "Image", "ndarray"})
_AROUND = frozenset({"np", "numpy", "PIL", "Optional", "Union", "None"}) | SEQUENCES
_LOOKS = frozenset(
    "print len str repr hash isinstance getattr hasattr setattr get pop setdefault format "
    "log debug info warning warn error record_function range_push".split()
)
"""Calls that are given the name of a mode or a task as well: they choose by it, or say it."""
_SPLITS = frozenset({"split", "splitlines", "encode"})
"""Methods that take text apart."""
_PASSED_ON = (ast.Attribute, ast.BinOp, ast.IfExp, ast.List, ast.Tuple, ast.Starred, ast.keyword)


def is_given_raw_data(place: Place) -> bool:
    """Whether the first thing that the function around is given is annotated as text, a picture, or a list of them.

    A string that the function only compares, or looks something up by, is the name of a mode and no text.
    """
    record, body = place.file.outline.functions[place.function], place.file.project.body(place.file.path)
    given = record.parameters[record.bound :][:1]
    words = annotation_words(body, place.function, given[0].name) if body is not None and given else None
    if words is None or not words & _RAW or not words <= _RAW | _AROUND:
        return False
    return words & _RAW != {"str"} or bool(words & SEQUENCES) or _is_text(place, given[0].name)


def _is_text(place: Place, name: str) -> bool:
    """Whether the function goes over a string, takes an item of it, or hands it to who may encode it."""
    around = place.file.enclosing(place.function)
    uses = (node for node in around.of_kinds((ast.Name,)) if isinstance(node, ast.Name) and node.id == name)
    return any(_is_worked_on(around, use) for use in uses if isinstance(use.ctx, ast.Load))


def _is_worked_on(around: Enclosing, node: ast.AST) -> bool:
    """Whether one use of a string takes it apart or hands it on: `for c in text`, `text[0]`, `encode(text.lower())`."""
    if isinstance(around.statement(node), ast.Raise):
        return False
    for parent in around.ancestors(node):
        if isinstance(parent, ast.For | ast.comprehension):
            return parent.iter is node
        if isinstance(parent, ast.Subscript):
            return parent.value is node
        if isinstance(parent, ast.Call):
            called = last_part(chain(parent.func))
            if parent.func is not node or called in _SPLITS:
                return called not in _LOOKS
        elif not isinstance(parent, _PASSED_ON) or (isinstance(parent, ast.IfExp) and parent.test is node):
            return False
        node = parent
    return False
