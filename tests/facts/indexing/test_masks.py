"""Boolean tensors, and what selects by them."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.indexing.masks import is_mask
from torchperf_lint.facts.values.value import Frame

CODE = """
    def padded(lengths: torch.Tensor):
        return lengths > 0, lengths

    def inverted(mask):
        return ~mask

    def encoded(x: torch.Tensor, short=False, shorter=False, full=False):
        if shorter:
            return x.relu()
        if short:
            return x, x + 1
        return x, x > 0, x < 1

    def unsure(x: torch.Tensor, full=False):
        if full:
            return x, x > 0, x
        return x, x < 0

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("kept", torch.ones(4, dtype=torch.bool))
            self.order = torch.arange(4)

        def forward(self, x: torch.Tensor, index: torch.Tensor, given: torch.BoolTensor, option: bool, chosen, at):
            x = x.cuda()
            x = torch.where(chosen.unsqueeze(-1), x, index) + torch.where(index)
            at = at.argsort()
            x = x.masked_fill(at, 0)
            low = x < 0
            both = low & given
            made = torch.zeros(4, dtype=torch.bool)
            valid, lengths = padded(x)
            hidden, _, hidden_low = encoded(x)
            narrow = x > 2
            narrow = narrow[low]
            narrow = narrow[low]
            narrow = narrow[low]
            narrow = narrow[low]
            _, of_some, of_one = unsure(x, full=True)
            rows = torch.stack([row for row, one in zip(x, low)])
            for row, one in zip(x, low):
                row = row[one]
            changed = x > 0 if option else x < 1
            number = 3 > 2
            view = lambda t: t.reshape(-1).contiguous()
            summed = lambda t: t.sum(1)
            inner, outer = ((x % 1 < 0.5) & (x > 1)).T
            first, second = low.unbind(1)
            column, other = x.T
            smallest, where = x.min(0)
            masks = [one.bool() for one in x]
            masks = [masks.flip(0) for masks in masks]
            numbers = [one.long() for one in x]
            kept, mixed = [], []
            for row in x:
                kept.append(row > 0)
                mixed.append(row > 0)
                mixed.append(row.argsort())
            return {expression}
"""


def shown(expression):
    files = texts(CODE.format(expression=expression))
    project = Project.of_texts(files)
    node = next(n for n in ast.walk(ast.parse(files["a.py"])) if isinstance(n, ast.Return) and n.lineno > 30).value
    function = next(i for i, f in enumerate(project.index.outlines["a.py"].functions) if f.name == "forward")
    return is_mask(project.values, node, Frame("a.py", function, (node.lineno, node.col_offset + 1)))


@pytest.mark.parametrize(
    "expression",
    [
        "x > 0",
        "low",
        "~low",
        "~index[:, 1:]",
        "inner",
        "torch.stack((torch.ones_like(outer), outer))",
        "second",
        "both",
        "low | index.bool()",
        "view(low)",
        "index.to(torch.bool)",
        "torch.isnan(x)",
        "x.isfinite()",
        "made",
        "valid",
        "inverted(low)",
        "low[:, 0]",
        "low.view(-1).unsqueeze(0)",
        "(x > 0).all(dim=1)",
        "self.kept",
        "given",
        "changed",
        "one",
        "torch.cat([low, both])",
        "torch.zeros_like(low)",
        "chosen",
        "chosen[0]",
        "torch.repeat_interleave(chosen[0], index)",
        "low + both",
        "low * (option == 1)",
        "other.byte()",
        "other.mask.bool()",
        "index.byte()",
        "torch.logical_not(option(index))",
        "option.train_mask",
        "option.ndata['val_mask'].bool()",
        "option.train_mask[:, 0] * option.test_mask[:, 0]",
        "{'mask': low}['mask']",
        "masks[index.sum()]",
        "kept[0]",
        "hidden_low",
        "of_some",
        "narrow",
    ],
)
def test_a_boolean_tensor_is_a_mask(expression):
    assert shown(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "x",
        "index",
        "index * (option == 1)",
        "low * (option is None)",
        "other.byte(8)",
        "lengths",
        "at",
        "self.order",
        "option",
        "number",
        "low.float()",
        "~number",
        "low.sum()",
        "x.argsort()",
        "(x > 0).all()",
        "x is None",
        "{'mask': low, **option}['mask']",
        "{'mask': index}['mask']",
        "torch.zeros_like(low, dtype=torch.long)",
        "low + index",
        "option.train_idx",
        "option.mask",
        "option['low_mask']",
        "view(x)",
        "summed(low)",
        "column",
        "where",
        "numbers[0]",
        "mixed[0]",
        "hidden",
        "of_one",
    ],
)
def test_what_picks_by_position_is_none(expression):
    assert not shown(expression)


DOCUMENTED = '''
    class Net(nn.Module):
        def forward(self, x: torch.Tensor, kept: torch.Tensor, marks):
            """Take parts.

            Args:
                {told}
            """
            return {name}
'''


@pytest.mark.parametrize(
    ("told", "name", "expected"),
    [
        ("kept: boolean mask of what stays.", "kept", True),
        ("kept (torch.BoolTensor): what stays.", "kept", True),
        ("kept (`torch.BoolTensor` of shape `(n,)`): what stays.", "kept[0]", True),
        ("marks (Tensor): A boolean tensor, True where padded.", "marks", True),
        (":param marks: the bool mask", "marks", True),
        ("marks : torch.BoolTensor", "marks", True),
        ("marks (bool): whether the boolean mask is used.", "marks", False),
        ("marks: what is taken, by a boolean mask or by places.", "marks", False),
        ("kept: boolean mask of what stays.", "marks", False),
        ("kept: bool, whether a mask is used.", "kept", False),
    ],
)
def test_masks_that_the_documentation_tells_of(told, name, expected):
    files = texts(DOCUMENTED.format(told=told, name=name))
    project = Project.of_texts(files)
    node = next(n for n in ast.walk(ast.parse(files["a.py"])) if isinstance(n, ast.Return)).value
    function = next(i for i, f in enumerate(project.index.outlines["a.py"].functions) if f.name == "forward")
    assert is_mask(project.values, node, Frame("a.py", function, (node.lineno, node.col_offset + 1))) is expected
