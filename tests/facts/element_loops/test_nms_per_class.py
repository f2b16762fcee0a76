"""Loops over classes that suppress each one's overlapping boxes."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.element_loops.nms_per_class import nms_per_class
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

DETECT = """\
from torchvision.ops import batched_nms, nms, soft_nms

class Detect(nn.Module):
    def forward(self, boxes: torch.Tensor, scores: torch.Tensor):
        boxes, scores = boxes.cuda(), scores.cuda()
        found = []
        for c in {over}:
            found.append({run})
        return found
"""


@pytest.mark.parametrize(
    ("over", "run", "found"),
    [
        ("range(1, self.num_classes)", "nms(boxes, scores[:, c], 0.5)", True),
        ("range(self.n_class - 1)", "nms(boxes, scores[:, c], 0.5)", True),
        ("range(len(boxes))", "nms(boxes, scores[:, c], 0.5)", False),
        ("range(1, self.num_classes)", "soft_nms(boxes, scores[:, c], 0.5)", False),
        ("range(1, self.num_classes)", "batched_nms(boxes, scores[:, c], c, 0.5)", False),
        ("range(1, self.num_classes)", "nms(np.ones(3), self.kept[c], 0.5)", False),
    ],
)
def test_each_class_has_a_run_of_its_own(over, run, found):
    files = texts(DETECT.format(over=over, run=run))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert bool(list(nms_per_class(file))) is found
