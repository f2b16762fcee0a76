"""What a caller passes twice is one tensor: the host tells without comparing elements."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.consequences import DECIDES, SAME, consequence


def asked(source: str) -> str:
    files = texts(source)
    site, *_ = SourceFile(Project.of_texts(files), "a.py", files["a.py"]).hot_calls("equal", "allclose")
    return consequence(site)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if torch.equal(query, key): return self.packed(query)", SAME),
        ("same = torch.equal(query, key)\n        if same: return self.packed(query)", SAME),
        ("if torch.equal(query, self.last): return self.packed(query)", DECIDES),
        ("if torch.equal(query, key[0]): return self.packed(query)", DECIDES),
        ("key = self.k(key)\n        if torch.equal(query, key): return self.packed(query)", DECIDES),
        ("if torch.allclose(query, key): return self.packed(query)", DECIDES),
    ],
)
def test_the_same_tensor(body, expected):
    source = f"""\
class Attention(nn.Module):
    def forward(self, query: torch.Tensor, key: torch.Tensor):
        {body}
        return self.q(query), self.k(key)
"""
    assert asked(source) == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("x, x", SAME),
        ("now=self.last, before=self.last", SAME),
        ("x, self.last", DECIDES),
        ("self.q(x), self.q(x)", DECIDES),
    ],
)
def test_two_parameters_that_a_call_gives_one_tensor(call, expected):
    source = f"""\
class Cached(nn.Module):
    def forward(self, x: torch.Tensor):
        return self.cached({call})

    def cached(self, now: torch.Tensor, before: torch.Tensor):
        if torch.equal(now, before): return self.packed(before)
        return self.q(now)
"""
    assert asked(source) == expected


def test_two_parameters_of_a_function_that_attends_to_nothing():
    source = """\
class Net(nn.Module):
    def forward(self, now: torch.Tensor, before: torch.Tensor):
        if torch.equal(now, before): return self.packed(before)
        return self.q(now)
"""
    assert asked(source) == DECIDES


@pytest.mark.parametrize(("names", "expected"), [(("query", "key"), SAME), (("q", "k"), DECIDES)])
def test_a_function_is_given_what_attention_is_by_full_names(names, expected):
    one, other = names
    source = f"""\
def attention_forward({one}: torch.Tensor, {other}: torch.Tensor, heads: int):
    if torch.equal({one}, {other}): return {one}.view(heads, -1)
    return {other}

class Net(nn.Module):
    def forward(self, x: torch.Tensor):
        return attention_forward(x, self.k(x), 8)
"""
    assert asked(source) == expected
