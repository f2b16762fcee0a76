"""Attention written out, and what only looks like it."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.models.written_out_attention import written_out

LAYER = """\
class Layer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.drop = nn.Dropout(0.1)

    def forward(self, q, k, v, mask, bias):
"""


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ("q @ k.transpose(-2, -1)", [(False, False)]),
        ("q @ k.transpose(2, 3) * 0.1", [(False, False)]),
        ("0.1 * torch.matmul(q, k.transpose(-1, -2))", [(False, False)]),
        ("(q @ k.mT).masked_fill(mask, -1e9)", [(True, False)]),
        ("q @ k.mT + mask", [(True, False)]),
        ("torch.where(mask, q @ k.mT, -1e9)", [(True, False)]),
        ("q @ k.permute(0, 1, 3, 2) + bias", [(False, True)]),
        ('torch.einsum("bhid,bhjd->bhij", q, k)', [(False, False)]),
        ('torch.einsum("bhdi,bhdj->bhij", q, k)', [(False, False)]),
        ('torch.einsum("bhdi,bhjd->bhij", q, k)', [(False, False)]),
        ('torch.einsum("bhdi,bgdj->bhij", q, k)', []),
        ("q @ k", []),
        ("q.transpose(-2, -1) @ k.transpose(-2, -1)", []),
        ("torch.tanh(q @ k.mT)", []),
    ],
)
def test_scores(scores, expected):
    found = _found(f"return ({scores}).softmax(dim=-1) @ v")
    assert [(attention.masked, attention.biased) for attention in found] == expected


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("a = s.softmax(-1)\na = self.drop(a)\nreturn a @ v", 1),
        ("a = torch.softmax(s, dim=-1)\nreturn torch.bmm(a, v)", 1),
        ("return a.matmul(v) if (a := s.softmax(-1)) is not None else None", 0),
        ("a = s.softmax(-1)\nreturn a @ v, a", 0),
        ("a = s.softmax(-1)\nself.a = a\nreturn a @ v + self.a.sum()", 0),
        ("a = s.softmax(-1) * mask\nreturn a @ v", 0),
        ("a = s.softmax(1)\nreturn a @ v", 0),
        ("a = s.softmax(-1)\nreturn a @ v, a @ bias", 0),
        ("a = s.softmax(-1)\nreturn v @ a", 0),
        ("a = s.softmax(-1)\nreturn a.to(v.dtype) @ v", 1),
    ],
)
def test_weights(body, count):
    assert len(_found(f"s = q @ k.mT\n{body}")) == count


@pytest.mark.parametrize(
    ("taken", "biased"),
    [
        ("s.amax(dim=-1, keepdim=True).detach()", False),
        ("torch.max(s, dim=-1, keepdim=True)[0]", False),
        ("torch.amax(s, -1, keepdim=True)", False),
        ("torch.max(s)", False),
        ("torch.max(bias, dim=-1, keepdim=True)[0]", True),
        ("torch.max(s, bias)", True),
    ],
)
def test_a_softmax_does_not_notice_that_scores_lose_their_own_maximum(taken, biased):
    (found,) = _found(f"s = q @ k.mT\ns = s - {taken}\nreturn s.softmax(-1) @ v")
    assert found.biased is biased


def _found(body: str):
    inner = "\n".join(" " * 8 + line for line in body.splitlines())
    files = texts(f"{LAYER}{inner}\n")
    return list(written_out(SourceFile(Project.of_texts(files), "a.py", files["a.py"])))


@pytest.mark.parametrize(
    ("product", "by_channels"), [("bhid,bhjd->bhij", False), ("bhdi,bhdj->bhij", True), ("b d i, b d j -> b i j", True)]
)
def test_rows_of_channels(product, by_channels):
    found = _found(f'return torch.einsum("{product}", q, k).softmax(dim=-1) @ v')
    assert [attention.by_channels for attention in found] == [by_channels]


@pytest.mark.parametrize(
    ("queries", "keys", "count"),
    [
        ("q.view(2, 9, 4, 8).transpose(1, 2)", "k.view(2, 9, 4, 8).permute(0, 2, 3, 1)", 1),
        ("q.view(*shape).transpose(2, 1)", "k.view(*shape).permute(0, 2, 3, 1)", 1),
        ("q.reshape((2, 9, 4, 8)).transpose(1, 2)", "k.reshape((2, 9, 4, 8)).transpose(1, 2).transpose(2, 3)", 1),
        ("q.transpose(1, 2)", "k.permute(0, 2, 3, 1)", 1),
        ("q.transpose(1, 2)", "k.permute(0, 2, 1)", 0),
        ("q.view(2, 9, 8).transpose(1, 2)", "k.view(2, 9, 4, 8).permute(0, 2, 3, 1)", 0),
        ("q.view(2, 9, 4, 8)", "k.view(2, 9, 4, 8).transpose(1, 2)", 0),
    ],
)
def test_heads_that_change_places_with_positions_leave_the_last_two_dimensions_as_they_are(queries, keys, count):
    assert len(_found(f"q = {queries}\nk = {keys}\nreturn (q @ k).softmax(dim=-1) @ v")) == count


KEPT = """\
class Layer(nn.Module):
    def pay(self, q, k, v):
        weights = (q @ k.mT).softmax(dim=-1)
        {kept}
        return weights @ v{more}

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor):
        {takes} = self.pay(q, k, v)
        return x
{reads}
"""
READ = "\ndef show(layer):\n    return layer.last.cpu()\n"


@pytest.mark.parametrize(
    ("kept", "more", "takes", "reads", "expected"),
    [
        ("self.last = weights", "", "x", "", [("self.last",)]),
        ("self.last = weights", "", "x", READ, []),
        ("pass", ", weights", "x, self.last", "", [("self.last",)]),
        ("pass", ", weights", "x, self.last", READ, []),
        ("pass", ", weights", "x, self.last[0]", "", []),
        ("self.rows[0] = weights", "", "x", "", []),
    ],
)
def test_weights_that_an_attribute_keeps_are_needed_where_it_is_read(kept, more, takes, reads, expected):
    files = texts(KEPT.format(kept=kept, more=more, takes=takes, reads=reads))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert [attention.kept for attention in written_out(file)] == expected


ON_REQUEST = """\
class Layer(nn.Module):
    def forward(self, q, k, v):
        weights = (q @ k.mT).softmax(dim=-1)
        return weights @ v, weights

class Block(nn.Module):
    def __init__(self, kept=False, shown=True):
        super().__init__()
        self.layer, self.kept, self.shown = Layer(), kept, shown

    def forward(self, q: torch.Tensor, k, v, asked=False, always=True, must=None):
        x, weights = self.layer(q, k, v)
        {reads}
        return x

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, q: torch.Tensor, k, v):
        return self.block(q, k, v{given})
"""


@pytest.mark.parametrize(
    ("reads", "given", "flags"),
    [
        ("if asked: return weights", "", [("asked",)]),
        ("if asked: return weights", ", asked=False", [("asked",)]),
        ("if asked: return weights", ", asked=True", []),
        ("if asked: return weights", ", True", []),
        ("return (x, weights) if asked else x", "", [("asked",)]),
        ("if must is not None: must.append(weights)", "", [("must",)]),
        ("if self.kept: return weights", "", [("self.kept",)]),
        ("if self.shown: return weights", "", []),
        ("if always: return weights", "", []),
        ("if not asked: return weights", "", []),
        ("if q.ndim > 3: return weights", "", []),
        ("print(weights)", "", []),
    ],
)
def test_weights_that_callers_read_on_request_are_needed_where_somebody_asks(reads, given, flags):
    files = texts(ON_REQUEST.format(reads=reads, given=given))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert [attention.flags for attention in written_out(file)] == flags


@pytest.mark.parametrize(
    ("shaped", "rank"),
    [
        ("q.view(n, s, e, h, d).permute(0, 2, 3, 1, 4)", 5),
        ("q.reshape(n, e, g, h, s, d)", 6),
        ("q.view(n, s, h, d).transpose(1, 2)", 4),
        ("q.reshape(n * h, s, d)", 3),
        ("q.view(*shape, h, d).transpose(-3, -2)", None),
        ("self.project(q)", None),
    ],
)
def test_how_many_dimensions_the_queries_have(shaped, rank):
    code = (
        LAYER
        + f"""
        q = q + mask
        q = {shaped}
        return torch.matmul(torch.softmax(torch.matmul(q, k.transpose(-2, -1)) / 8, dim=-1), v)
"""
    )
    files = texts(code)
    (found,) = written_out(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))
    assert found.rank == rank


@pytest.mark.parametrize(
    ("weights", "dropout"),
    [("self.drop(att)", "self.drop"), ("F.dropout(att, 0.1, self.training)", "F.dropout"), ("att.float()", "")],
)
def test_what_drops_weights(weights, dropout):
    (found,) = _found(f"att = (q @ k.transpose(-2, -1)).softmax(-1)\natt = {weights}\nreturn att @ v")
    assert found.dropout == dropout


@pytest.mark.parametrize(
    ("body", "scoring", "weighing"),
    [
        ("s = q @ k.mT * 0.1\na = s.softmax(-1)\nreturn a @ v", [0], [2]),
        ("s = q @ k.mT\nif mask is None:\n    s = q @ k.mT + 1\na = s.softmax(-1)\nreturn a @ v", [0, 2], [4]),
        ("return (q @ k.mT).softmax(-1) @ v", [0], [0]),
    ],
)
def test_the_products_around_the_softmax(body, scoring, weighing):
    (attention,) = _found(body)
    file = attention.site.file
    first = file.text.count("\n", 0, file.text.index(body.splitlines()[0])) + 1
    assert sorted(file.start(node)[0] - first for node in attention.scoring) == scoring
    assert [file.start(node)[0] - first for node in attention.weighing] == weighing
