"""Waits for what another method of the same object has begun."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.begun_elsewhere import ends_a_copy, ends_own_stream

HOLDER = """\
class Holder(nn.Module):
    def __init__(self):
        super().__init__()
        self.done, self.stream = torch.cuda.Event(), torch.cuda.current_stream()

    def begin(self, x: torch.Tensor):
        {begun}

    def forward(self, x: torch.Tensor):
        {wait}
        return self.kept + x

def elsewhere(x, kept):
    kept.copy_(x, non_blocking=True)
"""
COPY = "self.kept.copy_(x, non_blocking=True)"
OWN = "with torch.cuda.stream(self.side): self.kept = x * 2"


@pytest.mark.parametrize(
    ("begun", "wait", "copies", "streams"),
    [
        (COPY, "self.done.synchronize()", True, False),
        ("self.kept = x.to('cpu', non_blocking=True)", "self.stream.synchronize()", True, False),
        ("self.kept = x.to('cuda', non_blocking=True)", "self.stream.synchronize()", False, False),
        ("self.kept.copy_(x)", "self.done.synchronize()", False, False),
        (COPY, "torch.cuda.synchronize()", False, False),
        (COPY, "torch.cuda.synchronize(x.device)", False, False),
        (COPY, "torch.cuda.synchronize(self.stream)", True, False),
        (OWN, "self.done.synchronize()", False, True),
        (OWN, "torch.cuda.synchronize()", False, False),
        ("self.kept = x", "self.done.synchronize()", False, False),
    ],
)
def test_what_a_wait_ends(begun, wait, copies, streams):
    files = texts(HOLDER.format(begun=begun, wait=wait))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    (site,) = file.hot_calls("synchronize")
    assert (ends_a_copy(file, site), ends_own_stream(file, site)) == (copies, streams)
