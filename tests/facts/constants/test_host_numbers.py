"""Which expressions are one number that the host has, and so need no upload."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.constants.host_numbers import is_host_number

CODE = """
import math
import random


def weight(step) -> float:
    return schedule[step]


def f(x: torch.Tensor, n: int, eps: float | None, lengths: list[int], kind="a", gain=2.0, other=None):
    count = len(lengths)
    either = x if n else 3
    found, grown = 0, 0
    for row in lengths:
        if row > n:
            found += 1
        grown = grown + x
    portion = found
    portion = portion / max(n, 1)
    for group in optimizer.param_groups:
        pass
    for i in range(n):
        for j, row in enumerate(lengths):
            torch.tensor({expression}, device=x.device)
"""


def number(expression):
    site = site_of(CODE.format(expression=expression), f"torch.tensor({expression}, device=x.device)")
    return is_host_number(site.file.project.values, site.call.args[0], site.frame)


@pytest.mark.parametrize(
    "expression",
    [
        *("3", "-0.5", "n", "eps", "gain", "i", "j", "count", "n * 2 + 1", "n if count else 0"),
        *("len(lengths)", "max(lengths)", "int(n)", "math.sqrt(n)", "x.shape[0]", "x.size(0)", "x.numel()", "x.item()"),
        *("random.random()", "np.random.beta(1.0, 1.0)", "np.random.rand()", "np.random.choice(n)", "group['lr']"),
        *("torch.finfo(x.dtype).min", "np.finfo(np.float32).eps"),
        *("found", "portion", "n or 1", "n > 1", "not n", "other is None", "kind in ('a', 'b')"),
        *("np.mean(lengths)", "weight(n)", "np.exp(-2j * np.pi / n)", "np.sqrt(count)", "tokenizer.pad_token_id"),
    ],
)
def test_one_number(expression):
    assert number(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "x",
        "lengths",
        "kind",
        "other",
        "row",
        "either",
        "abs(x)",
        "x.shape",
        "x.shape[1:]",
        "x.size()",
        "[1, 2]",
        "f(n)",
        "grown",
        "x > 1",
        "other or 1",
        "np.sqrt(lengths)",
        "tokenizer.token_ids",
        "np.mean(lengths, axis=0)",
        "np.random.choice(n, (3,))",
        "random.sample(range(n), 3)",
    ],
)
def test_no_single_number(expression):
    assert not number(expression)


@pytest.mark.parametrize(
    ("returned", "known"),
    [
        ("x, sum([max(y.numel(), 1) for y in parts])", True),
        ("x, parts", False),
        ("[x, 1]", False),
        ("x, len(parts)", True),
    ],
)
def test_a_part_of_what_a_helper_gives(returned, known):
    site = site_of(
        f"""
        def targets(x: torch.Tensor, parts):
            if not parts:
                return None
            return {returned}

        def loss(x: torch.Tensor, parts):
            found = targets(x, parts)
            labels, count = found
            return torch.tensor(count, device=x.device)
        """,
        "torch.tensor(count, device=x.device)",
    )
    assert is_host_number(site.file.project.values, site.call.args[0], site.frame) is known


@pytest.mark.parametrize(
    ("test", "known"),
    [
        ("isinstance(angle, (int, float))", True),
        ("isinstance(angle, float) or isinstance(angle, int)", True),
        ("isinstance(angle, numbers.Number)", True),
        ("isinstance(angle, (float, list))", False),
        ("isinstance(angle, float) or x is None", False),
        ("not isinstance(angle, float)", False),
    ],
)
def test_a_number_by_a_test(test, known):
    code = f"""
    def rotate(x: torch.Tensor, angle):
        if {test}:
            angle = torch.tensor(angle, device=x.device)
        return x * angle
    """
    site = site_of(code, "torch.tensor(angle, device=x.device)")
    assert is_host_number(site.file.project.values, site.call.args[0], site.frame) is known


@pytest.mark.parametrize(("given", "known"), [("self.angle", True), ("torch.rand(1)", False)])
def test_what_every_caller_gives_as_a_tensor_is_no_number(given, known):
    code = f"""
    class Rotate(nn.Module):
        def __init__(self, angle):
            super().__init__()
            self.angle = angle

        def forward(self, x: torch.Tensor):
            return rotate(x, {given})


    def rotate(x: torch.Tensor, angle):
        if isinstance(angle, float):
            angle = torch.tensor(angle, device=x.device)
        return x * angle
    """
    site = site_of(code, "torch.tensor(angle, device=x.device)")
    assert is_host_number(site.file.project.values, site.call.args[0], site.frame) is known


def test_a_name_that_is_bound_anew_is_what_it_was_tested_for_no_more():
    code = """
    def rotate(x: torch.Tensor, angle):
        if isinstance(angle, float):
            angle = x * angle
            angle = torch.tensor(angle, device=x.device)
        return x * angle
    """
    site = site_of(code, "torch.tensor(angle, device=x.device)")
    assert not is_host_number(site.file.project.values, site.call.args[0], site.frame)


@pytest.mark.parametrize(("made", "known"), [("n", True), ("torch.ones(n)", False), ("nn.Linear(n, n)", False)])
def test_what_an_object_counts_by_its_name(made, known):
    code = f"""
    class Ray(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.n_samples = {made}

        def forward(self, x: torch.Tensor):
            return x + torch.tensor([2.0 / self.n_samples], device=x.device)
    """
    site = site_of(code, "torch.tensor([2.0 / self.n_samples], device=x.device)")
    assert is_host_number(site.file.project.values, site.call.args[0].elts[0], site.frame) is known


@pytest.mark.parametrize(
    ("line", "known"),
    [
        ("pass", True),
        ("self.n_samples = m", True),
        ("self.n_samples = len(x)", True),
        ("self.n_samples = x.shape[0]", True),
        ("self.n_samples += 1", True),
        ("self.n_samples = batch.mask.sum()", False),
        ("self.n_samples = m.sum()", False),
        ("self.n_samples += m.sum()", False),
        ("m = batch.mask.sum()\n            self.n_samples = m", False),
        ("self.register_buffer('n_samples', m)", False),
    ],
)
@pytest.mark.parametrize("first", ["", "self.n_samples = 64", "self.n_samples = None"])
def test_what_methods_set_to_no_number_is_no_count(first, line, known):
    code = f"""
    class Ray(nn.Module):
        def __init__(self):
            super().__init__()
            {first}

        def prepare(self, batch, x: torch.Tensor, m):
            {line}

        def forward(self, x: torch.Tensor):
            return x + torch.tensor([2.0 / self.n_samples], device=x.device)
    """
    site = site_of(code, "torch.tensor([2.0 / self.n_samples], device=x.device)")
    assert is_host_number(site.file.project.values, site.call.args[0].elts[0], site.frame) is known


def test_batches_tracked_are_no_count_of_the_host():
    code = """
    class Ray(nn.Module):
        def forward(self, x: torch.Tensor):
            return x + torch.tensor([self.num_batches_tracked], device=x.device)
    """
    site = site_of(code, "torch.tensor([self.num_batches_tracked], device=x.device)")
    assert not is_host_number(site.file.project.values, site.call.args[0].elts[0], site.frame)


HELD = """
class Quantizer(nn.Module):
    def __init__(self, depth: int, x: torch.Tensor):
        self.depth, self.width = depth, 3
        self.mixed = depth
        self.turns = 0

    def set_depth(self, n: int, y):
        self.depth = n
        self.mixed = y
        self.turns += y

    def forward(self, x: torch.Tensor, rate: float):
        torch.tensor({expression}).to(x)
"""


@pytest.mark.parametrize(
    ("expression", "is_one"),
    [
        ("self.depth", True),
        ("self.depth * rate", True),
        ("self.mixed", False),
        ("self.turns", False),
        ("self.unset", False),
        ("rate.depth", False),
    ],
)
def test_an_attribute_that_every_method_sets_to_a_number(expression, is_one):
    site = site_of(HELD.format(expression=expression), f"torch.tensor({expression})")
    assert is_host_number(site.file.project.values, site.call.args[0], site.frame) is is_one
