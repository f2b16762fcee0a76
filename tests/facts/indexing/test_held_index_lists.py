"""Lists that a module holds and indexes with."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.host_indices import host_indices

CODE = """
    class Angles(nn.Module):
        def __init__(self, width, dims, kept=(0, 2), names=("a", "b"), few=None):
            super().__init__()
            {before}
            self.dims = {made}
            self.proj = nn.Linear(width, width)

        def forward(self, q: torch.Tensor):
            {first}
            q = self.proj(q.to("cuda"))
            return q[{index}]
    """


def told(made, index="..., self.dims", first="pass", before="pass"):
    files = texts(CODE.format(made=made, index=index, first=first, before=before))
    found = host_indices(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))
    return [ast.unparse(one.spot.expression) for one in found]


@pytest.mark.parametrize("made", ["tuple(dims)", "list(dims)", "sorted(set(dims))", "[2, 0]", "(2, 0)", "kept"])
def test_a_list_beside_another_index(made):
    assert told(made) == ["self.dims"]


@pytest.mark.parametrize("made", ["list(dims)", "sorted(dims)", "[2, 0]"])
def test_a_list_alone(made):
    assert told(made, "self.dims") == ["self.dims"]


@pytest.mark.parametrize("made", ["tuple(dims)", "(2, 0)", "kept"])
def test_a_tuple_alone_is_an_index_for_each_dimension(made):
    assert told(made, "self.dims") == []


@pytest.mark.parametrize("made", ["dims", "names", "few", "dims[0]", "slice(dims)", "len(dims)"])
def test_what_may_be_one_number_or_a_slice(made):
    assert told(made) == []


def test_a_list_that_a_pass_changes():
    assert told("list(dims)", first="self.dims.append(len(q))") == []


@pytest.mark.parametrize(
    ("made", "before"),
    [
        ("kept", "kept = torch.tensor(kept).cuda()"),
        ("kept", "if not torch.is_tensor(kept): kept = torch.tensor(kept, device='cuda')"),
        ("list(kept)", "kept = torch.tensor(kept).cuda()"),
    ],
)
def test_a_default_that_is_made_a_tensor_before(made, before):
    assert told(made, before=before) == []
    assert told(made) == ["self.dims"]
