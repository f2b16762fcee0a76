"""Attributes that switch something for the whole process: `torch.backends.cudnn.enabled = False`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.switches import Mark
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.patterns import pattern

_WORDS = 4
"""From so many words on a comment is taken for a reason."""
_REASON = pattern(r"because|due to|need|require|since|bug|issue|workaround|work around|avoid|hang|deadlock|crash|nan")
_LINK = pattern(r"https?://\S+")


class Flag(NamedTuple):
    """An assignment to a flag of the process, and what is assigned."""

    mark: Mark
    dotted: str
    value: ast.expr


def flags_set(file: SourceFile, *dotted: str) -> Iterator[Flag]:
    """The assignments to these attributes, in order; none that the same function takes back or restores."""
    body = file.project.body(file.path)
    names = {last_part(name) for name in dotted}
    for function in sorted(body.functions) if body is not None else ():
        found = [
            Flag(mark, name, node.value)
            for node in file.enclosing(function).of_kinds((ast.Assign,))
            if isinstance(node, ast.Assign) and len(node.targets) == 1
            for target in node.targets
            if isinstance(target, ast.Attribute) and target.attr in names
            for mark in (Mark(file, node, function),)
            if (name := file.denotes(target, mark)) is not None and name in dotted
        ]
        times = [flag.dotted for flag in found]
        yield from (flag for flag in found if times.count(flag.dotted) == 1)


def explained(file: SourceFile, node: ast.expr | ast.stmt) -> bool:
    """Whether a comment beside a line, or right above its statement, says why it is there."""
    line = file.span(node)[0][0]
    told = [file.lines[line - 1].partition("#")[2]]
    first = file.lines[line - 1].split("[")[0].split("(")[0]
    line -= 1
    while line > 0 and file.lines[line - 1].strip() and file.lines[line - 1].startswith(first):
        line -= 1  # one comment may stand above several settings
    while line > 0 and file.lines[line - 1].lstrip().startswith("#"):
        told.append(file.lines[line - 1].lstrip(" \t#"))
        line -= 1
    text = _LINK.sub("", " ".join(told))
    return len(re.findall(r"[A-Za-z']+", text)) >= _WORDS or gives_reason(text)


def gives_reason(comment: str) -> bool:
    """Whether a comment has a word of those that give reasons."""
    return bool(_REASON.search(_LINK.sub("", comment).lower()))
