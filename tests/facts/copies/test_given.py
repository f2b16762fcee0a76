"""Attributes that hold what a constructor was given, and numbers that a helper makes a tensor of."""

from __future__ import annotations

import ast

import pytest
from calls_in import site_of
from snippets import texts

from torchperf_lint.facts.constants.held import held_since_construction
from torchperf_lint.facts.copies.left_behind import left_behind
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.model import Confidence

CODE = """
def to_tensor(x, dtype=None) -> torch.Tensor:
    if isinstance(x, torch.Tensor):
        if dtype is not None:
            x = x.type(dtype)
        return x
    if isinstance(x, np.ndarray):
        x = torch.from_numpy(x)
        return x
    if isinstance(x, (list, tuple)):
        x = np.array(x)
        x = torch.from_numpy(x)
        if dtype is not None:
            x = x.type(dtype)
        return x


def on_device(x):
    return torch.tensor(x).cuda()


class Loss({base}):
    def __init__(self, weights: {hint} = None):
        super().__init__()
        {made}

    {method}

    def forward(self, x):
        return {moved}
"""


def asked(question, expression, **parts):
    """The answer of a fact about the place where the last `expression` is read in `Loss.forward`."""
    filled = {"base": "nn.Module", "hint": "list[float]", "method": "", "moved": expression, **parts}
    project = Project.of_texts(texts(CODE.format(**filled)))
    body = project.body("a.py")
    assert body is not None
    functions = project.index.outlines["a.py"].functions
    index = next(i for i, function in enumerate(functions) if function.name == "forward")
    node = next(n for n in ast.walk(body.functions[index]) if isinstance(n, ast.Return)).value
    assert node is not None
    return question(project.values, node, Frame("a.py", index, body.at(node)))


@pytest.mark.parametrize(
    ("hint", "made", "known"),
    [
        ("list[float]", "self.w = to_tensor(weights)", True),
        ("Optional[List[float]]", "self.w = to_tensor(weights, dtype=torch.float) if weights else None", True),
        ("object", "self.w = to_tensor([1.0, 2.0])", True),
        ("object", "self.w = to_tensor(weights)", False),
        ("torch.Tensor", "self.w = to_tensor(weights)", False),
        ("list[float]", "self.w = on_device(weights)", False),
        ("list[float]", "self.w = unknown(weights)", False),
    ],
)
def test_a_helper_makes_a_host_tensor_of_numbers(hint, made, known):
    found = asked(left_behind, "self.w", hint=hint, made=made)
    assert (found is not None) is known
    assert found is None or (found.in_module and found.value.confidence is Confidence.CERTAIN)


@pytest.mark.parametrize(
    ("base", "hint", "made", "known"),
    [
        ("nn.Module", "torch.Tensor", "self.w = weights", True),
        ("nn.Module", "torch.Tensor | None", "self.w = weights.float()", True),
        ("nn.Module", "torch.Tensor", "self.w = nn.Parameter(weights)", False),
        ("nn.Module", "torch.Tensor", "self.register_buffer('w', weights)", False),
        ("nn.Module", "object", "self.w = weights", False),
        ("object", "torch.Tensor", "self.w = weights", False),
    ],
)
def test_a_tensor_from_the_caller_stays_where_it_is(base, hint, made, known):
    found = asked(left_behind, "self.w", base=base, hint=hint, made=made)
    assert (found is not None) is known
    assert found is None or found.value.confidence is Confidence.LIKELY


SETTER = "def set_weights(self, w):\n        self.w = w"
HELD = [
    ("self.w", "self.w = weights", "", True),
    ("self.w", "self.w = weights['a']", "", True),
    ("self.w['a']", "self.w = {'a': weights}", "", True),
    ("self.w[name]", "self.w = {}; self.fill(weights)", "def fill(self, w):\n        self.w['a'] = w", True),
    ("self.w[x]", "self.w = weights", "", False),
    ("self.w", "self.w = weights", SETTER, False),
    ("self.w", "self.w = weights", "def grow(self, w):\n        self.w.append(w)", False),
    ("self.w", "self.w = 0", "def training_step(self, batch):\n        self.w += 1", False),
    ("self.w", "self.w = torch.ones(3)", "", False),
    ("self.other", "self.w = weights", "", False),
]


@pytest.mark.parametrize(("expression", "made", "method", "held"), HELD)
def test_what_only_building_sets_no_step_changes(expression, made, method, held):
    assert asked(held_since_construction, expression, hint="object", made=made, method=method) is held


def test_only_modules_are_built_once():
    assert not asked(held_since_construction, "self.w", base="object", made="self.w = weights")


CONTAINERS = [
    ("self.w['a']", "self.w = {'a': torch.rand(3)}", True),
    ("self.w[name].view(-1)", "self.w = {}; self.w[name] = torch.rand(3)", True),
    ("self.w[0]", "self.w = []; self.w.append(torch.arange(3))", True),
    ("self.w[0]", "self.w = [torch.zeros(1)] * 3", True),
    ("self.w[0]", "self.w = torch.rand(3, 3); self.w[0] = 1", True),
    ("self.w[name]", "self.w = {}; self.w[name] = torch.rand(3, device='cuda')", False),
    ("self.w[name]", "self.w = {}; self.w[name] = name", False),
    ("self.w[name]", "self.w = {'a': torch.rand(3)}; self.w[name] = self.w[name].to(device)", False),
    ("self.w[name]", "self.w = {}", False),
]


@pytest.mark.parametrize(("expression", "made", "behind"), CONTAINERS)
def test_what_a_container_holds_stays_behind_as_well(expression, made, behind):
    assert (asked(left_behind, expression, made=made) is not None) is behind


def test_a_mixin_of_modules_holds_what_they_do():
    code = """
        class Indexed:
            def add(self, n):
                self.order = torch.randperm(n)

            def pick(self, x):
                return x[self.order.to(x.device)]

        class Picks({}Indexed):
            pass
        """
    for base, in_module in (("nn.Linear, ", True), ("", False)):
        site = site_of(code.format(base), "self.order.to(x.device)")
        assert site.receiver is not None
        held = left_behind(site.file.project.values, site.receiver, site.frame)
        assert held is not None
        assert held.in_module is in_module
