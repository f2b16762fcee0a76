"""Numbers of the host that are put into single elements of a tensor on the device."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.element_stores import element_stores


def told(body):
    """How many stores of a forward pass are told."""
    text = "class M(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    text += "        self.register_buffer('b', torch.zeros(3, 3))\n\n"
    text += "    def forward(self, x: torch.Tensor, i: int, rows, a: np.ndarray):\n        x = x.cuda()\n"
    files = texts(text + indent(dedent(body), " " * 8))
    return len(list(element_stores(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))))


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("m = torch.zeros(3, 3, device=x.device)\nm[0, 1] = 2.0", 1),
        ("m = torch.zeros((3, 3), device=x.device)\nm[0, i] = x.shape[0]", 1),
        ("m = torch.empty(2, device=x.device)\nm[0] = float('inf')", 1),
        ("m = torch.eye(3, device=x.device).clone()\nm[0, 2] = -x.size(1) / 2", 1),
        ("m = x.new_full((1,), 0.0)\nm[0] = 3", 1),
        ("self.b[0, 0] = 1.0", 1),
        ("m = torch.zeros((i), device=x.device)\nif m[i] == 1:\n    x = 2 * x\nm[i] = 0", 1),
        ("m = torch.clamp(x, min=0)\nif not m[i]:\n    x = 2 * x\nm[i] = 1", 1),
        ("m = torch.clamp(x, min=0)\nif m[i].any():\n    m[i] = 1", 0),
        ("m = torch.clamp(x, min=0)\nif m[0] == 1:\n    m[i] = 1", 0),
        ("m = torch.clamp(x, min=0)\nm[i] = 1", 0),
        ("self.b[0] = 1.0", 0),
        ("m = torch.zeros(3, 3, device=x.device)\nm[0] = 2.0", 0),
        ("m = torch.zeros(3, 3, device=x.device)\nm[0, :] = 2.0", 0),
        ("m = torch.zeros(3, 3, device=x.device)\nm[0, rows] = 2.0", 0),
        ("m = torch.zeros(3, 3, device=x.device)\nm[0, 0] = x.sum()", 0),
        ("m = torch.zeros(3, 3)\nm[0, 0] = 1.0", 0),
        ("m = torch.zeros(x.shape, device=x.device)\nm[0, 0] = 1.0", 0),
        ("a[0, 0] = 1.0", 0),
        ("m = np.zeros((3, 3))\nm[0, 0] = 1.0", 0),
    ],
)
def test_only_a_place_without_dimensions_is_copied_to(body, count):
    assert told(body) == count
