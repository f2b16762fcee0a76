"""Classes of the project below DataLoader that pass everything on themselves: who makes one cannot ask for pinning.

class BaseLoader(DataLoader):
    def __init__(self, dataset, batch_size, num_workers):
        super().__init__(dataset, batch_size, shuffle=True, num_workers=num_workers)
"""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.loaders.pinning import LOADER_CLASSES, PIN_POSITION, WORKERS_POSITION, lacks
from torchperf_lint.facts.loaders.spread_arguments import written_out
from torchperf_lint.facts.syntax.arguments import unpacks

_ON_TO = "super().__init__"


def never_pinned(file: SourceFile) -> Iterator[Site]:
    """The calls of DataLoader's own constructor that pass workers and no pinning, whatever the class is asked for."""
    found = [call for call in file.outline.calls if call.callee == _ON_TO]
    for site in file.calls_among(found if file.mentions(("num_workers",)) else ()):
        if not _is_directly_below(file, site):
            continue
        told = written_out(file.project.values, site.call, site.frame)
        asked = any("pin" in p.name for p in file.outline.functions[site.function].parameters)
        if asked or unpacks(told) or lacks(told, "num_workers", WORKERS_POSITION):
            continue
        if lacks(told, "pin_memory", PIN_POSITION):
            yield site


def _is_directly_below(file: SourceFile, site: Site) -> bool:
    """Whether a constructor is one of a class whose only base is DataLoader."""
    own = file.project.index.class_of(file.path, site.function)
    bases = file.project.index.bases(own) if own is not None else ()
    return len(bases) == 1 and bases[0].dotted in LOADER_CLASSES
