"""Parameters that the hot calls of the same file upload just before they hand them over."""

from __future__ import annotations

import pytest

from torchperf_lint.facts.copies.uploaded_by_callers import uploaded_here_or_before
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

TRAIN = """
import torch

class Hits:
    def log(self, label):
        self.counts[int(label)] += 1

def train(model, loader, optimizer, hits: Hits):
    for x, y in loader:
        x, y = x.cuda(), {label}
        out = model(x)
        out.mean().backward()
        optimizer.step()
        hits.log({given})
"""


def line_of_upload(label: str, given: str) -> int | None:
    text = TRAIN.format(label=label, given=given)
    file = SourceFile(Project.of_texts({"a.py": text}), "a.py", text)
    site = next(site for site in file.calls_among(file.outline.calls) if site.record.callee == "int")
    return uploaded_here_or_before(file, site, site.call.args[0])


@pytest.mark.parametrize(
    ("label", "given", "line"),
    [
        ("y.cuda()", "y", 10),
        ("y.to('cuda', non_blocking=True)", "y", 10),
        ("y", "y", None),
        ("y.cuda()", "out.argmax()", None),
        ("y.cuda()", "y + out.sum()", None),
    ],
)
def test_what_the_caller_uploaded_the_host_had(label, given, line):
    assert line_of_upload(label, given) == line
