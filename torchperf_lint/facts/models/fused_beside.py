"""Fused attention that stands beside one that is written out: torch's in the file, or xformers' in the class.

def _attention(self, q, k, v): ...                                   # written out
def _fused_attention(self, q, k, v): return xformers.ops.memory_efficient_attention(q, k, v)

A method of one's own that nothing in the file names is no other way: it is left from where the class was copied.
"""

from __future__ import annotations

import re

from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.outlines.records import Function
from torchperf_lint.patterns import pattern

_FUSED = pattern(r"\w*(?:scaled_dot_product|flash_attn|flex_attention)\w*")
_OF_XFORMERS = pattern(r"memory_efficient_attention|xformers")
_SET_OR_SAID = pattern(r"^\s*def\s+\w+|\bself\.\w+\s*(?::[^=\n]*)?=(?!=)|#.*$", re.MULTILINE)
"""The name of a method and of an attribute that is set, and comments: what uses nothing."""


def knows_fused(file: SourceFile) -> bool:
    """Whether a fused attention is spoken of, not only a function of the file's own that has its name."""
    lines = [line for line in file.lines if "_attn" in line or "_attention" in line or "_dot_product" in line]
    named = {match.group() for line in lines if _is_code(line) for match in _FUSED.finditer(line)}
    return bool(named) and not named <= {record.name for record in file.outline.functions}


def has_another_way(file: SourceFile, site: Site) -> bool:
    """Whether the class of a call, or one derived from it, leaves attention to xformers where that is installed."""
    if _OF_XFORMERS.search(file.text) is None:
        return False
    own = file.outline.functions[site.function].class_index
    if own < 0:
        return True
    classes = file.outline.classes
    alike = [n for n, record in enumerate(classes) if n == own or classes[own].name in record.bases]
    return any(
        record.class_index in alike and _is_named(file, record) and _uses_xformers(file, record)
        for record in file.outline.functions
    )


def _is_code(line: str) -> bool:
    return not line.lstrip().startswith("#")


def _uses_xformers(file: SourceFile, record: Function) -> bool:
    text = "\n".join(file.lines[record.line - 1 : record.end_line])
    return _OF_XFORMERS.search(_SET_OR_SAID.sub("", text)) is not None


def _is_named(file: SourceFile, record: Function) -> bool:
    """Whether a method may run: others call what is public, classes that derive from its own what is private."""
    if not record.name.startswith("_") or record.name.startswith("__"):
        return True
    project = file.project
    own = project.index.class_of(file.path, file.outline.functions.index(record))
    heirs = {heir.path for heir in project.index.below(own)} if own is not None else set()
    named = re.compile(rf"(?<!def )\b{record.name}\b")
    return any(named.search(project.text(path)) for path in {file.path, *heirs})
