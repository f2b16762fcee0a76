"""What is made on the host for a tensor that was copied there, and uploaded with it:

    targets = torch.zeros(n, k).scatter_(1, labels.cpu(), 1)
    targets = targets.cuda()

Made on the device alone it would be given places on the host, which raises; both move there, or none.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.copies.fresh import fresh_on_host
from torchperf_lint.facts.copies.round_trips import RoundTrip
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.reads.host_copies import host_copies
from torchperf_lint.facts.values.value import Frame


def made_for_trip(file: SourceFile, site: Site, trip: RoundTrip) -> str | None:
    """The factory of torch's that makes what a tensor is put into before that is uploaded; None where none does."""
    upload = trip.upload
    if not isinstance(upload, ast.Call) or not isinstance(upload.func, ast.Attribute):
        return None
    frame = Frame(file.path, site.function, file.span(upload)[0])
    fresh = fresh_on_host(file.project.values, upload, frame)
    return fresh.factory if fresh is not None else None


def is_told_as_trip(file: SourceFile, upload: ast.Call) -> bool:
    """Whether an upload is the way back of a copy to the host, with which it is told."""
    return any(trip is not None and trip.upload is upload for _, trip in host_copies(file))
