"""Devices that a module of the project names for the others."""

from __future__ import annotations

import pytest
from snippets import value_of

DEVICES = "Device: TypeAlias = torch.device\nCPU: Final = {}\n"
LAYER = """
{}
class Layer(nn.Module):
    def forward(self, x):
        drawn = torch.rand(3, device={})
        return drawn
"""


@pytest.mark.parametrize(
    ("bound", "imported", "name", "where"),
    [
        ('Device("cpu")', "from places import CPU", "CPU", "host"),
        ('torch.device("cpu")', "from places import CPU as device", "device", "host"),
        ('torch.device("cpu")', "import places", "places.CPU", "host"),
        ('torch.device("cuda")', "from places import CPU as device", "device", "device"),
        ('torch.device("cpu")\nif ready():\n    CPU = torch.device("cuda")', "import places", "places.CPU", "device"),
        ('torch.device("cpu")', "from elsewhere import CPU", "CPU", "anywhere"),
    ],
)
def test_a_constant_of_another_module_is_the_device_it_was_bound_to(bound, imported, name, where):
    files = {"places.py": DEVICES.format(bound), "layer.py": LAYER.format(imported, name)}
    assert value_of(files, "drawn").device == where
