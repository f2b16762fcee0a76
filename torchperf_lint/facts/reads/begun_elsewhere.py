"""Waits for what another method of the same object has begun: a copy to the host, work on a stream of its own.

    def submit(self, x):                                     def result(self):
        self.buffer.copy_(x, non_blocking=True)                  self.copied.synchronize()
        self.copied.record()                                     return self.buffer

Without the wait the host would read what has not arrived yet.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax.arguments import keyword, moved_to
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_literal

_WHOLE_DEVICE = ("torch.cuda.synchronize", "torch.accelerator.synchronize")
_OWN_STREAMS = ("cuda.stream", "cuda.Stream", "record_stream")


def copies_to_host(call: ast.Call) -> bool:
    """`x.to("cpu", non_blocking=True)`, `pinned.copy_(x, non_blocking=True)`: the host must not read at once."""
    flag = keyword(call, "non_blocking")
    if flag is None or (isinstance(flag, ast.Constant) and not flag.value):
        return False
    name = last_part(chain(call.func))
    if name == "copy_":
        return True
    target = moved_to(call)
    return name == "to" and is_literal(target, "cpu")


def ends_a_copy(file: SourceFile, site: Site) -> bool:
    """Whether a wait for a stream or an event stands in a class with another method that copies without waiting."""
    if _of_whole_device(file, site):
        return False
    calls = (node for part, method in _others(file, site) for node in part.enclosing(method).of_kinds((ast.Call,)))
    return any(isinstance(call, ast.Call) and copies_to_host(call) for call in calls)


def ends_own_stream(file: SourceFile, site: Site) -> bool:
    """Whether a wait for a stream stands in a class with another method that works on streams of its own."""
    if _of_whole_device(file, site):
        return False
    return any(
        call.callee.endswith(_OWN_STREAMS)
        for part, method in _others(file, site)
        for call in part.outline.calls
        if call.function == method
    )


def _of_whole_device(file: SourceFile, site: Site) -> bool:
    """`torch.cuda.synchronize()`, of the one device or of one that is named: no `synchronize(self.stream)`."""
    if file.denotes(site.call.func, site) not in _WHOLE_DEVICE:
        return False
    return not any("stream" in chain(part).lower() for given in site.call.args for part in ast.walk(given))


def _others(file: SourceFile, site: Site) -> Iterator[tuple[SourceFile, int]]:
    """The other methods of the class in the same file, its bases in that file included."""
    index = file.project.index
    own = index.class_of(file.path, site.function)
    for cls in index.ancestry(own) if own is not None else ():
        if cls.kind == "class" and cls.path == file.path:
            yield from ((file, method) for method in index.record(cls).methods.values() if method != site.function)
