"""Fresh tensors in lists that a function fills, types of tensors handed around, numbers written into the device."""

from __future__ import annotations

import ast

import pytest
from calls_in import site_of

from torchperf_lint.facts.constants.configured import SHAPE
from torchperf_lint.facts.copies.fresh import fresh_on_host
from torchperf_lint.facts.copies.written_from_host import written_from_host

CAT = "torch.cat(parts).to(x.device)"


def moved(body, call=CAT):
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    site = site_of(f"def f(x: torch.Tensor, sizes, others):\n{lines}\n    return {call}\n", call)
    return fresh_on_host(site.file.project.values, site.call, site.frame)


@pytest.mark.parametrize(
    ("body", "made"),
    [
        ("parts = []\nfor n in sizes:\n    parts.append(torch.zeros(n))", True),
        ("parts = list()\nfor n in sizes:\n    z = torch.full((n, 1), 2)\n    parts.append(z)", True),
        ("parts = []\nparts.append(torch.zeros(2))\nparts.append(x)", False),
        ("parts = []\nparts.append(torch.zeros(2))\nparts.extend(others)", False),
        ("parts = others\nparts.append(torch.zeros(2))", False),
        ("parts = []", False),
    ],
)
def test_lists_of_fresh_tensors(body, made):
    assert (moved(body) is not None) is made


HEAD = """
    class Head(nn.Module):
        def forward(self, xs):
            kind = {given}
            return self.decode(xs[0], kind)

        def decode(self, x, kind):
            return torch.arange(4).type(kind)
    """


@pytest.mark.parametrize(
    ("given", "is_moved"),
    [("xs[0].type()", True), ("torch.zeros(1).type()", False), ("xs[0].dtype", False), ('xs[0].type("x")', False)],
)
def test_types_that_are_handed_on(given, is_moved):
    site = site_of(HEAD.format(given=given), "torch.arange(4).type(kind)")
    assert (fresh_on_host(site.file.project.values, site.call, site.frame) is not None) is is_moved


@pytest.mark.parametrize(
    ("target", "is_moved"), [("xs[0]", True), ("other", True), ("torch.zeros(2)", False), ("host", False)]
)
def test_what_type_as_takes_is_a_tensor(target, is_moved):
    call = f"torch.arange(4).type_as({target})"
    head = "class Net(nn.Module):\n    def forward(self, xs, other):\n        host = torch.ones(2)\n"
    site = site_of(f"{head}        return {call}\n", call)
    assert (fresh_on_host(site.file.project.values, site.call, site.frame) is not None) is is_moved


@pytest.mark.parametrize(
    ("other", "is_moved"), [("x", True), ("logits", True), ("kind", False), ("weight_type", False), ("fp16", False)]
)
def test_what_is_called_like_no_dtype_and_is_moved_to_is_a_tensor(other, is_moved):
    call = f"torch.zeros(4).to({other})"
    site = site_of(f"def f({other}, y):\n    print(y.device)\n    return {call}\n", call)
    assert (fresh_on_host(site.file.project.values, site.call, site.frame) is not None) is is_moved


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("gain[2:6] = torch.tensor(x.shape)[[3, 2]]", SHAPE),
        ("gain[:2] = torch.tensor(x.shape).float()", SHAPE),
        ("gain[0] = torch.tensor(0.5)", None),  # one number is filled in
        ("host[:2] = torch.tensor(x.shape)", None),
        ("gain = torch.tensor(x.shape)", None),
        ("gain[2:6] = x * torch.tensor(x.shape)", None),
    ],
)
def test_numbers_written_into_the_device(statement, kind):
    call = "torch.tensor(0.5)" if "0.5" in statement else "torch.tensor(x.shape)"
    site = site_of(
        f"""
        class Loss(nn.Module):
            def forward(self, x: torch.Tensor):
                gain, host = torch.ones(7, device="cuda"), torch.ones(7)
                {statement}
        """,
        call,
    )
    found = written_from_host(site)
    assert (found.upload.kind if found is not None else None) == kind
    assert found is None or ast.unparse(found.into) == statement.partition(" = ")[0]


@pytest.mark.parametrize(("function", "made"), [("meshgrid", True), ("spread", False)])
def test_grids_of_a_function_that_suits_several_versions(function, made):
    call = "torch.stack((a, b), 2).to(x.device)"
    head = f"from own import {function}\n\ndef f(x: torch.Tensor):\n"
    grid = f"    a, b = {function}([torch.arange(2), torch.arange(3)])\n"
    site = site_of(f"{head}{grid}    return {call}\n", call)
    assert (fresh_on_host(site.file.project.values, site.call, site.frame) is not None) is made


@pytest.mark.parametrize(
    ("body", "made"),
    [
        ("parts = []\nfor n in sizes:\n    parts.append(torch.zeros(n).long())\n    parts.append(torch.ones(n))", True),
        ("parts = [torch.zeros(2)]\nparts.extend(others)", False),
        ("parts = []\nparts.append(torch.zeros(2))\nparts.append(x)", False),
        ("parts = others", False),
    ],
)
def test_the_elements_of_a_list_that_a_function_fills_are_fresh_where_all_are(body, made):
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    code = f"def f(x: torch.Tensor, sizes, others):\n{lines}\n    return [p.to(x.device) for p in parts]\n"
    site = site_of(code, "p.to(x.device)")
    assert (fresh_on_host(site.file.project.values, site.call, site.frame) is not None) is made


def test_an_element_that_was_used_before_its_move_is_not_just_made():
    code = "def f(x, sizes):\n    parts = []\n    for n in sizes:\n        parts.append(torch.zeros(n))\n"
    code += "    for p in parts:\n        p[0] = 1\n        put(p.to(x.device))\n"
    site = site_of(code, "p.to(x.device)")
    assert fresh_on_host(site.file.project.values, site.call, site.frame) is None
