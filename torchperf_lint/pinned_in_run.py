"""What a run knows of pinning that the code did not tell: whether what was copied is pinned, and which loaders read.

    loader = DataLoader(data, pin_memory=not args.cpu)      pinned in this run: passing `non_blocking=True` is enough
    def move(batch): return batch.to(device)                called with batches of several loaders; these are the ones
                                                            that were read
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.loaders.pinning import FROM_ANYWHERE
from torchperf_lint.model import Finding, Verdict
from torchperf_lint.recorded import Event

_ASKED = "pass `non_blocking=True`"
_NAMED = re.compile(r" here and `pin_memory=True` to the loader \((?P<path>[^()]+):(?P<line>\d+)\)$")
_PINNED = f"{_ASKED}: what it copied in this run is pinned"
_SPAN = 15
"""Lines by which the place of a call that goes over several may differ between its code and a frame."""
_MOST = 3
_INSTALLED = ("site-packages/", "dist-packages/")


def with_advice(verdict: Verdict, finding: Finding, run: Evidence, copies: Sequence[Event]) -> Verdict:
    """The verdict with what to do in place of the finding's advice, where the run knows better."""
    instead = _advice(finding.instead, run, copies) if copies else None
    return verdict if instead is None else replace(verdict, instead=instead)


def _advice(said: str, run: Evidence, copies: Sequence[Event]) -> str | None:
    named = _NAMED.search(said)
    if not said.startswith(_ASKED) or (named is None and not said.endswith(FROM_ANYWHERE)):
        return None
    if all(copy.attributes.get("pinned") is True for copy in copies):
        return _PINNED
    # Where no loader is known to make the batch, the run's may make something else.
    read = _unpinned(run) if named is not None else []
    if not read or named is None or _has_read(run, named["path"], int(named["line"])):
        return None
    return f"{_ASKED} here and `pin_memory=True` to the loader{'s' * (len(read) > 1)} ({', '.join(read)})"


def _has_read(run: Evidence, path: str, line: int) -> bool:
    """Whether a loader made there gave batches."""
    return any(
        loader.batches and loader.path == path and abs((loader.line or 0) - line) <= _SPAN for loader in run.loaders
    )


def _unpinned(run: Evidence) -> list[str]:
    """Where the project makes the loaders that gave unpinned batches, if these are few; none where it is not known."""
    read = [loader for loader in run.loaders if loader.batches and not loader.settings.get("pin_memory")]
    if any(one.path is None or any(part in one.path for part in _INSTALLED) for one in read):
        return []
    places = sorted({(str(one.path), one.line or 0) for one in read})
    return [f"{path}:{line}" for path, line in places] if len(places) <= _MOST else []
