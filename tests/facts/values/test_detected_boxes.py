"""The boxes of a detector's result, told by what a loop reads of each."""

from __future__ import annotations

import pytest
from snippets import value_of

from torchperf_lint.facts.values.value import DEVICE, HOST

CODE = """
    def found(result):
        boxes = {boxes}
        for {names}:
            {reads}
        return see(boxes)
    """
READS = "keep(box.xyxy[0], box.conf)"


def value(boxes="result.boxes", names="box in boxes", reads=READS):
    return value_of(CODE.format(boxes=boxes, names=names, reads=reads), "boxes")


@pytest.mark.parametrize("setting", [{}, {"names": "i, box in enumerate(boxes)"}, {"names": "box in result.boxes"}])
def test_boxes_of_a_detector(setting):
    found = value(**setting)
    assert (found.kind, found.device) == ("tensor", DEVICE)


@pytest.mark.parametrize(
    "setting",
    [
        {"boxes": "result.cpu().boxes"},
        {"boxes": "result.regions"},
        {"reads": "keep(box.xyxy[0])"},
        {"reads": "keep(box.left, box.conf)"},
        {"names": "box in others"},
    ],
)
def test_boxes_of_nobody_knows_whom(setting):
    found = value(**setting)
    assert found.kind == "unknown" or found.device == HOST
