"""Loaders that pin their batches and are given to accelerate's `prepare`, made there or by a function of the project.

def build_loader(data, sampler=None):
    if sampler is not None:
        return DataLoader(data, batch_sampler=sampler, pin_memory=True)
    return DataLoader(data, shuffle=True, pin_memory=True)

loader = accelerator.prepare(build_loader(data))
"""

from __future__ import annotations

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.loaders.loaders import Origin
from torchperf_lint.facts.loaders.pinning import LOADER_CLASSES, loader_call
from torchperf_lint.facts.syntax.arguments import literal
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.facts.values.web_loaders import WEB_LOADER

_DATA_LOADERS = tuple(name for name in LOADER_CLASSES if name != WEB_LOADER)


def pinned_and_prepared(file: SourceFile) -> list[Origin]:
    """The loaders that pin their batches and are given to `prepare` in this file, whichever function makes them."""
    project, found = file.project, set[Origin]()
    for site in file.calls_among(c for c in file.outline.calls if last_part(c.callee) == "prepare"):
        if "accelerator" not in last_part(chain(site.call.func).removesuffix(".prepare")).lower():
            continue
        for argument in site.call.args:
            value = project.values.of(argument, site.frame)
            origins = value.origins if value.kind == "loader" else ()
            if origins and all(_pins(project, origin) for origin in origins):
                found.update(origins)
    return sorted(found, key=lambda origin: (origin[0] != file.path, origin))


def _pins(project: Project, origin: Origin) -> bool:
    """Whether the call at `origin` makes a `DataLoader` itself, with `pin_memory=True` written out."""
    path, line, column = origin
    call = loader_call(project, origin)
    record = next((c for c in project.index.outlines[path].calls if (c.line, c.column) == (line, column)), None)
    if call is None or record is None or literal(call, "pin_memory") is not True:
        return False
    made = project.values.thing(call.func, Frame(path, record.function, (line, column)))
    return made is not None and made.dotted in _DATA_LOADERS
