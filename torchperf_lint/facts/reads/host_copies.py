"""Hot copies of device tensors to the host, and whether what was copied comes back."""

from __future__ import annotations

from typing import NamedTuple

from torchperf_lint.facts.copies.environments import steps_an_environment
from torchperf_lint.facts.copies.left_on_host import stays_there
from torchperf_lint.facts.copies.plotted import is_plotted
from torchperf_lint.facts.copies.round_trips import RoundTrip, round_trip
from torchperf_lint.facts.copies.uploaded_by_iterators import had_before
from torchperf_lint.facts.files.in_sight import steps_in_sight
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.copied_for_nothing import copied_before
from torchperf_lint.facts.reads.kept_by_metrics import by_default
from torchperf_lint.facts.reads.reads import Read, Reading, copies_in_loops, copy_readings, is_the_result
from torchperf_lint.model import Confidence, Severity


class HostCopy(NamedTuple):
    """A copy that is no result of an evaluation."""

    reading: Reading
    trip: RoundTrip | None
    """How it comes back to the device; None where it stays on the host."""


def host_copies(file: SourceFile) -> tuple[HostCopy, ...]:
    """The blocking copies of a file that run in hot code, or that a loop repeats for nothing."""
    return file.once(_host_copies)


def _host_copies(file: SourceFile) -> tuple[HostCopy, ...]:
    return tuple(
        _asked_for(file, reading)
        for reading in (*copy_readings(file), *copies_in_loops(file))
        if not is_the_result(file, reading.site, reading.read) and not stays_there(reading.site)
    )


def _asked_for(file: SourceFile, reading: Reading) -> HostCopy:
    """A copy with its way back; what is drawn is asked for, and so may be what a step far from it makes hot."""
    site, read = reading.site, reading.read
    if read.repeated is not None:
        return HostCopy(reading, None)  # what a loop copies bit by bit needs one copy before it, wherever the bits go
    trip = round_trip(file, site)
    if trip is None and is_plotted(file, site):
        return HostCopy(_doubted(reading), None)
    seen = trip is not None or had_before(file, site) or copied_before(file, site) is not None
    if seen or by_default(site) or steps_in_sight(site, read.hot):
        return HostCopy(reading, trip)
    return HostCopy(_doubted(reading), None)


def _doubted(reading: Reading) -> Reading:
    read = reading.read
    return reading._replace(read=read._replace(value=read.value.weaker(Confidence.POSSIBLE), severity=Severity.INFO))


def copy_severity(file: SourceFile, read: Read) -> Severity:
    """What a step of an environment gives is small, and the libraries that many meters call need it on the host."""
    if read.hot.kind == "update":
        return Severity.INFO
    return Severity.INFO if steps_an_environment(file.project, read.hot) else read.severity
