"""Attributes of modules: buffers and parameters are with the module, plain tensors where they were made."""

from __future__ import annotations

import pytest
from snippets import value_of

from torchperf_lint.facts.values.value import ANYWHERE, DEVICE, HOST
from torchperf_lint.model import Confidence

NET = """
class Net(nn.Module):
    def __init__(self, n, device, given):
        super().__init__()
        self.linear = nn.Linear(n, n)
        {}

    {}

    def forward(self, x):
        return {}
"""

ATTRIBUTES = [
    ('self.register_buffer("a", torch.ones(n))', "tensor", ANYWHERE),
    ('self.register_buffer("a", torch.ones(n), persistent=False)', "tensor", ANYWHERE),
    ('self.register_buffer(name="a", tensor=torch.ones(n))', "tensor", ANYWHERE),
    ('self.register_buffer("a", tensor=torch.ones(n))', "tensor", ANYWHERE),
    ('super().register_buffer("a", torch.ones(n))', "tensor", ANYWHERE),
    ('self.register_buffer("a", None)', "tensor", ANYWHERE),
    ('self.add_state("a", default=torch.tensor(0))', "tensor", ANYWHERE),
    ('self.add_state("a", torch.zeros(n), dist_reduce_fx="sum")', "tensor", ANYWHERE),
    ('self.add_state("a", default=[], dist_reduce_fx="cat")', "unknown", None),
    ('self.add_state("a", given)', "unknown", None),
    ('given.add_state("a", torch.zeros(n))', "unknown", None),
    ("self.a = nn.Buffer(torch.ones(n))", "tensor", ANYWHERE),
    ("self.a = torch.nn.Buffer(torch.ones(n), persistent=False)", "tensor", ANYWHERE),
    ("self.a = torch.nn.parameter.Buffer(torch.ones(n))", "tensor", ANYWHERE),
    ("self.a: nn.Buffer = nn.Buffer(torch.ones(n))", "tensor", ANYWHERE),
    ("self.a = nn.Parameter(torch.zeros(n))", "tensor", ANYWHERE),
    ("self.a = nn.parameter.Parameter(torch.zeros(n))", "tensor", ANYWHERE),
    ('self.register_parameter("a", nn.Parameter(torch.zeros(n)))', "tensor", ANYWHERE),
    ("self.a = nn.Parameter(torch.zeros(n), requires_grad=False)", "tensor", ANYWHERE),
    ("self.a = torch.arange(n)", "tensor", HOST),
    ("self.a = torch.tensor([1.0, 2.0]).view(1, 2)", "tensor", HOST),
    ("self.a = torch.from_numpy(given)", "tensor", HOST),
    ("t = torch.linspace(0, 1, n)\n        self.a = t[None] * 2", "tensor", HOST),
    ("self.a = torch.arange(n).to(device)", "tensor", DEVICE),
    ("self.a = torch.arange(n, device=device)", "tensor", DEVICE),
    ("self.a = torch.arange(n).cuda()", "tensor", DEVICE),
    ("self.a = given", "unknown", None),
    ("self.a = n * 2 if n else 3", "unknown", None),
    ("self.a = nn.ModuleList([nn.Linear(n, n)])", "module", None),
    ("self.a = nn.ModuleDict()", "module", None),
    ("self.a = len(given)", "plain", None),
]


@pytest.mark.parametrize(("line", "kind", "device"), ATTRIBUTES)
def test_what_init_assigns(line, kind, device):
    found = value_of(NET.format(line, "size = 3", "self.a"), "self.a")
    assert found.kind == kind
    assert device is None or found.device == device


@pytest.mark.parametrize(
    ("line", "read", "kind"),
    [
        ("self.a = nn.ParameterList([nn.Parameter(torch.zeros(n))])", "self.a[0]", "tensor"),
        ("self.a = nn.ParameterDict({'k': nn.Parameter(torch.zeros(n))})", "self.a['k']", "tensor"),
        ("self.a = nn.ModuleList([nn.Linear(n, n)])", "self.a[0]", "module"),
        ("self.a = nn.ModuleDict({'k': nn.Linear(n, n)})", "self.a['k']", "module"),
        ("self.a = nn.ModuleDict({'k': nn.Linear(n, n)})", "[m for m in self.a.values()][0]", "module"),
        ("self.a = nn.ModuleDict({'k': nn.Linear(n, n)})", "[m for k, m in self.a.items()][0]", "module"),
    ],
)
def test_containers_of_parameters_and_modules(line, read, kind):
    assert value_of(NET.format(line, "size = 3", read), read).kind == kind


MOVED = """
    def prepare(self, x):
        {}
"""


@pytest.mark.parametrize(
    "later",
    [
        "self.a = self.a.to(x.device)",
        "self.a = self.a.cuda()",
        "if self.a.device != x.device:\n            self.a = self.a.to(x.device)",
    ],
)
def test_a_plain_tensor_that_a_method_moves_for_good_is_not_known_to_be_on_the_host(later):
    code = NET.format("self.a = torch.arange(n)", MOVED.format(later).strip(), "self.a")
    assert value_of(code, "self.a").device == ANYWHERE


def test_a_plain_tensor_that_the_module_takes_along_is_not_known_to_be_on_the_host():
    along = "def _apply(self, fn):\n        self.a = fn(self.a)\n        return super()._apply(fn)"
    found = value_of(NET.format("self.a = torch.arange(n)", along, "self.a"), "self.a")
    assert found.confidence is not Confidence.CERTAIN


def test_a_buffer_that_a_base_class_registers():
    code = """
        class Base(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("steps", torch.zeros(1))

        class Net(Base):
            def forward(self, x):
                return self.steps
        """
    assert value_of(code, "self.steps").device == ANYWHERE


DEVICES = {
    "a property": ("@property\n    def device(self):\n        return next(self.parameters()).device", "self.device"),
    "of a parameter": ("@property\n    def device(self):\n        return self.linear.weight.device", "self.device"),
    "by another name": ("@property\n    def where(self):\n        return next(self.buffers()).device", "self.where"),
    "a buffer's": ("size = 3", "self.b.device"),
    "an attribute": ("size = 3", "self.device"),
}


@pytest.mark.parametrize(("method", "read"), DEVICES.values(), ids=DEVICES)
def test_devices_of_a_module(method, read):
    line = 'self.register_buffer("b", torch.zeros(3)); self.device = device'
    line = line.partition(";")[0] if "def " in method else line
    code = NET.format(line, method, f"torch.zeros(3, device={read})")
    assert value_of(code, f"torch.zeros(3, device={read})").device == DEVICE
    moved = f"torch.zeros(3, dtype=x.dtype).to({read})"
    assert value_of(NET.format(line, method, moved), moved).device == DEVICE


def test_a_property_is_what_it_returns():
    count = "@property\n    def count(self):\n        return len(self.linear.weight)"
    assert value_of(NET.format("self.n = n", count, "self.count"), "self.count").kind == "plain"
    scale = "@property\n    def scale(self):\n        return self.linear.weight.mean()"
    assert value_of(NET.format("self.n = n", scale, "self.scale"), "self.scale").kind == "tensor"


@pytest.mark.parametrize("made", ["{}", "[]", "collections.defaultdict(None)"])
@pytest.mark.parametrize(
    "stored", ["self.losses[k] = loss", "self.losses.append(loss)", "self.losses.update({k: loss})"]
)
def test_what_methods_put_into_an_empty_attribute(made, stored):
    code = f"""
        import collections
        class Meter:
            def __init__(self):
                self.losses = {made}
            def add(self, loss: torch.Tensor, k):
                {stored}
            def last(self):
                return self.losses[0]
    """
    assert value_of(code, "self.losses[0]").kind == "tensor"


def test_an_empty_attribute_that_holds_numbers():
    code = """
        class Meter:
            def __init__(self):
                self.losses = []
            def add(self, loss: torch.Tensor):
                self.losses.append(loss.item())
            def last(self):
                return self.losses[-1]
    """
    assert value_of(code, "self.losses[-1]").kind == "plain"
