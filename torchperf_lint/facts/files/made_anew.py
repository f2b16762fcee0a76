"""Objects that hot code makes anew: what their constructors do, they do as often as they are made."""

from __future__ import annotations

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.source import Place
from torchperf_lint.model import Related

_SHOWN = 5


def made_anew(place: Place) -> list[Related]:
    """Where hot code makes the objects whose constructor a place is in; nothing for any other function."""
    file, hot = place.file, place.hot
    if hot is None or file.outline.functions[place.function].name != "__init__":
        return []
    sites = file.project.hotness.callers.get(FunctionKey(file.path, place.function), ())
    often = [site for site in sites if file.project.hotness.of_region(site.path, site.call.region) is not None]
    told = "makes such an object anew each time"
    return [file.related(s.path, s.call.line, s.call.column, told, len(s.call.callee)) for s in often[:_SHOWN]]
