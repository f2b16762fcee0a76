"""Numbers stored where an index on the device says."""

from __future__ import annotations

import time
from textwrap import dedent, indent

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.number_stores import number_stores
from torchperf_lint.model import Confidence


def stores(body):
    """The stores of a forward pass that are told."""
    text = "class M(nn.Module):\n    def __init__(self, n: int):\n        super().__init__()\n        self.n = n\n\n"
    text += "    def forward(self, x: torch.Tensor, given: torch.LongTensor, inds, at: torch.Tensor, i: int, r):\n"
    files = texts(text + indent(dedent("x = x.cuda()\n" + body), " " * 8))
    return list(number_stores(SourceFile(Project.of_texts(files), "a.py", files["a.py"])))


def told(body):
    """What they are told to be written as instead."""
    return [store.instead for store in stores(body)]


@pytest.mark.parametrize(
    ("body", "instead"),
    [
        ("rows = torch.where(x > 0)[0]\nx[rows] = 1.0\nreturn rows", "`x.index_fill_(0, rows, 1.0)`"),
        ("rows, columns = torch.where(x > 0)\nx[rows, columns] = 1.0\nreturn rows",
         "through the mask, `x[mask] = 1.0`, or store a tensor that is made on the device: "
         "`x[rows, columns] = x.new_full((), 1.0)`"),
        ("at = torch.arange(8, device=x.device)\nx[at, at] = 1.0",
         "store a tensor that is made on the device: `x[at, at] = x.new_full((), 1.0)`"),
        ("rows = (x > 0).nonzero()[:, 0]\nx[rows] = 1.0\nreturn rows", "`x.index_fill_(0, rows, 1.0)`"),
        ("rows = (x > 0).nonzero(as_tuple=True)\nx[rows[0]] = 1.0\nreturn rows", "`x.index_fill_(0, rows[0], 1.0)`"),
        ("rows = torch.nonzero(x > 0).squeeze(-1).unique()\nx[rows] = 1\nreturn rows", "`x.index_fill_(0, rows, 1)`"),
        ("x[:, given] = self.n", "`x.index_fill_(1, given, self.n)`, an index with one dimension"),
        ("x[..., given.view(-1)] = -1", "`x.index_fill_(-1, given.view(-1), -1)`"),
        ("x[..., given.view(-1), :] = -1", "`x.index_fill_(-2, given.view(-1), -1)`"),
        ("x[i, :, given.flatten()] = 0", "`x[i].index_fill_(1, given.flatten(), 0)`"),
        ("x[0, given.flatten(), :2] = 0", "fill a view of it, `.index_fill_(dim, given.flatten(), 0)`"),
        ("top = x.topk(3, dim=1).indices[0, :]\nx[top] = True", "`x.index_fill_(0, top, True)`"),
        ("_, top = torch.sort(x)\nx[top[:i]] = True", "`x.index_fill_(0, top[:i], True)`, an index with one dimension"),
        ("x[torch.cat([given, x.argmax(1)])] = 0",
         "`x.index_fill_(0, torch.cat([given, x.argmax(1)]), 0)`, an index with one dimension"),
        ("x[at.long()] = 0", "`x.index_fill_(0, at.long(), 0)`, an index with one dimension"),
        ("a = torch.arange(8, device=x.device)\ni, j = torch.meshgrid(a, a, indexing='ij')\nx[i, j] = 0",
         "store a tensor that is made on the device: `x[i, j] = x.new_full((), 0)`"),
        ("i, j = torch.meshgrid([given, given])\nj = torch.clamp(j + x.argmax(1) - 2, min=0)\nx[:, j] = 0",
         "`x.index_fill_(1, j, 0)`, an index with one dimension"),
        ("x[given.view(-1) % 8] = 0", "`x.index_fill_(0, given.view(-1) % 8, 0)`, an index with one dimension"),
        ("if len(inds) > 0:\n    x[inds] = 0", "`x.index_fill_(0, inds, 0)`"),
        ("pos_inds = r.pos_inds\nif pos_inds.numel():\n    x[pos_inds] = 0", "`x.index_fill_(0, pos_inds, 0)`"),
    ],
)  # fmt: skip
def test_a_number_is_copied_to_the_places_of_an_index(body, instead):
    assert told(body) == [instead]


@pytest.mark.parametrize(
    "body",
    [
        "x[inds] = 0",
        "x[at] = 0",
        "x[x > 0] = 0",
        "x[i] = x[:, i] = 0",
        "x[given, at] = 0",
        "x[given] = x[0]",
        "x[given] += 1",
        "x[given] = x.new_full((), 0)",
        "mask = x > 0\nif len(mask) > 0:\n    x[mask] = 0",
        "pos_inds = x > 0\nif len(pos_inds) > 0:\n    x[pos_inds] = 0",
        "h = torch.zeros(3)\nh[given.cpu()] = 0",
        "rows = (x > 0).nonzero()[:, 0]\nx[rows] = 1.0",
        "rows = x.argsort().bool()\nx[rows] = 1.0",
        "rows = (x.argsort() > 2).view(-1)\nx[rows] = 1.0",
        "rows = torch.where(x > 0, x, at)\nx[rows[:2]] = 1.0",
        "x[x.argmax()] = 1.0",
        "x[x.argmax() + 1] = 1.0",
        "x[at + i] = 1.0",
        "x[given & at] = 1.0",
        "i, j = torch.meshgrid(x > 0, given)\nx[i] = 1.0",
        "i, j = torch.meshgrid(torch.arange(8), torch.arange(8))\nx[i, j] = 1.0",
        "i, j = torch.meshgrid(at, at)\nx[i, j] = 1.0",
        "x[x.topk(3)[0]] = 1.0",
    ],
)
def test_masks_numbers_and_what_nobody_knows_are_none(body):
    assert told(body) == []


@pytest.mark.parametrize(
    ("index", "confidence"),
    [
        ("x.argmax(1)", Confidence.LIKELY),
        ("x.max(dim=2)[1]", Confidence.LIKELY),
        ("x.max(dim=0, keepdim=True)[1]", Confidence.LIKELY),
        ("torch.max(x, 1).indices", Confidence.LIKELY),
        ("torch.max(x, 0).indices", Confidence.POSSIBLE),
        ("x.argmin(dim=-1)", Confidence.POSSIBLE),
    ],
)
def test_what_may_be_one_number_is_possible_only(index, confidence):
    (store,) = stores(f"at = {index}\nx[at] = 1.0")
    assert store.base.weaker(Confidence.LIKELY).confidence is confidence


def test_a_long_line_of_subscripts_takes_no_longer_than_others():
    """A search with two open ends in a row took minutes for it."""
    terms = " + ".join(f"c[{i}]*x[i{i}]" for i in range(900))
    files = texts(f"class M(nn.Module):\n    def forward(self, x, c):\n        return {terms}\n")
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    start = time.process_time()
    assert list(number_stores(file)) == []
    assert time.process_time() - start < 10  # seconds
