"""What is copied to the host and back again."""

from __future__ import annotations

from textwrap import indent

import pytest
from snippets import texts

from torchperf_lint.facts.copies.round_trips import comes_back, comes_back_in_table, is_packed, round_trip
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

HELPERS = """
def one_hot(labels, n):
    table = torch.eye(n)
    return table[labels]

def wrapped(labels, n):
    return solver(n).of(labels)

"""
HEAD = f"import cv2\n{HELPERS}\ndef run_all(x, y: torch.Tensor, solve):\n    x, parts = x.to('cuda'), []\n"


def back(code):
    """Whether the first `.cpu()` of a function is undone."""
    files = texts(HEAD + indent(f"for i in range(9):\n{indent(code, '    ')}", "    ") + "\n")
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    return comes_back(file, next(file.looped_calls("cpu"))) is not None


@pytest.mark.parametrize(
    "code",
    [
        "x.cpu().to('cuda')",
        "a = x.cpu()\nb = a * 2\nc = b.cuda()",
        "a = x.detach().cpu().numpy()\nb = torch.from_numpy(a[::-1]).to(y.device)",
        "a = x.cpu().numpy()\nb = torch.tensor(np.sort(a), device=torch.device('cuda'))",
        "parts.append(x.cpu())\nz = torch.cat(parts).to(device='cuda')",
        "order = np.argsort(x.cpu().numpy())\nz = y[order]",
        "b = torch.from_numpy(-x.cpu().numpy()).cuda()",
        "b = cv2.resize(x.cpu().numpy(), (2, 2))\nb = torch.from_numpy(b).cuda()",
        "b = np.stack([np.sort(one) for one in x.cpu().numpy()])\nb = torch.from_numpy(b).cuda()",
        "kept = x.cpu() > 0\nz = y[kept & ~kept[0]]",
        "_, first = np.unique(x.cpu().numpy(), return_index=True)\nz = y[first, 0]",
        "b = torch.zeros(3, 4).scatter_(1, x.cpu(), 1)\nb = b.cuda()",
        "b = one_hot(x.cpu(), 4)[:, 1:]\nb = b.cuda()",
        "b = torch.from_numpy(np.random.choice(len(x), 8, p=x.cpu().numpy())).cuda()",
        "rows = np.random.choice(len(x), size=8, p=x.cpu().numpy())\nz = y[rows]",
        "k = np.argmax(x.cpu().data.numpy())\nb = np.zeros((1, 9))\nb[0][k] = 1\nb = torch.from_numpy(b).cuda()",
    ],
)
def test_it_comes_back(code):
    assert back(code)


@pytest.mark.parametrize(
    "code",
    [
        "parts.append(x.cpu())\nz = torch.cat(parts)",
        "row = np.random.choice(len(x), p=x.cpu().numpy())\nz = y[row]",
        "n = x.cpu().numel()\nz = y[n - 1]",
        "a = x.cpu()\nb = a.to(torch.float32)",
        "a = x.cpu()\nb = a.to('cpu')",
        "a = solve(x.cpu().numpy())\nb = torch.as_tensor(a, device='cuda')",
        "a = x.cpu()\na = y\nb = a.cuda()",
        "a = cv2.Canny(x.cpu().numpy(), 1, 2)\nb = torch.from_numpy(a).cuda()",
        "a = [solve(one) for one in x.cpu().numpy()]\nb = torch.tensor(a).cuda()",
        "a = [y for one in x.cpu().numpy()]\nb = torch.stack(a).cuda()",
        "b = parts.scatter_(1, x.cpu(), 1)\nb = b.cuda()",
        "b = torch.load('t.pt').index_select(0, x.cpu()).cuda()",
        "t = torch.zeros(9, 4)\nb = t.gather(0, x.cpu()).cuda()",
        "b = wrapped(x.cpu(), 4)\nb = b.cuda()",
        "n = x.cpu().sum().item()\nb = torch.full((n,), 1.0).cuda()",
        "n = x.cpu()\nb = torch.zeros(n).cuda()",
        "n = x.cpu()\nz = y[: n[0]]",
        "order = x.cpu().argsort()\nz = parts[order]",
        "order = x.cpu()\ny_host = y.cpu()\nz = y_host[order]",
        "k = x.cpu().argmax()\nb = {}\nb[k] = 1\nb = torch.tensor(b).cuda()",
        "k = x.cpu().argmax()\nb = np.zeros(9)\nb[k] = 1\nparts.append(b)",
    ],
)
def test_it_stays_or_becomes_something_else(code):
    assert not back(code)


@pytest.mark.parametrize(
    ("then", "only"),
    [
        ("b[0, k] = 1", True),
        ("assert k != None\nb[0][k] = 1", True),
        ("b[0, k] = 1\nprint(k)", False),
        ("b[0, k] = 1\nparts.append(a)", False),
        ("b[0] = 1 + k", False),
    ],
)
def test_it_only_says_where_a_table_is_filled(then, only):
    code = f"a = x.cpu().numpy()\nk = a.argmax()\nb = np.zeros((1, 9))\n{then}\nc = torch.from_numpy(b).cuda() * x"
    files = texts(HEAD + indent(f"for i in range(9):\n{indent(code, '    ')}", "    ") + "\n")
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert comes_back_in_table(file, next(file.looped_calls("cpu"))) is only


def test_what_worked_on_it_is_told():
    code = "a = np.sort(np.clip(x.cpu().numpy(), 0, 1))\nb = torch.from_numpy(a).to(y.device)"
    files = texts(HEAD + indent(f"for i in range(9):\n{indent(code, '    ')}", "    ") + "\n")
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    found = round_trip(file, next(file.looped_calls("cpu")))
    assert found is not None
    assert (found.upload.lineno, set(found.through)) == (files["a.py"].count("\n"), {"numpy.sort", "numpy.clip"})


HELPER = """
class Net(nn.Module):
    def forward(self, x: torch.Tensor):
        x = x.to("cuda")
        {uses}
        return x

    def made(self, x):
        return {made}
"""
TESTED = "[[(i not in self.skipped) and i != 0 for i in row] for row in x.cpu().tolist()]"


@pytest.mark.parametrize(
    ("made", "uses", "returns"),
    [
        (TESTED, "x = x * torch.tensor(self.made(x), device=x.device)", True),
        ("np.sort(x.cpu().numpy())", "x = torch.from_numpy(self.made(x)).cuda()", True),
        ("np.sort(x.cpu().numpy())", "low = self.made(x)\n        x = torch.tensor(low, device=x.device)", True),
        (TESTED, "x = torch.tensor(self.made(x), device=x.device); self.kept = self.made(x)", False),
        (TESTED.replace("i != 0", "self.words[i]"), "x = torch.tensor(self.made(x), device=x.device)", False),
        (TESTED, "self.kept = torch.tensor(self.made(x))", False),
        ("solved(x.cpu().numpy())", "x = torch.from_numpy(self.made(x)).cuda()", False),
        ("x.cpu(), x.shape", "kept, shape = self.made(x)\n        x = torch.ones(shape).cuda()", False),
        ("x.cpu()", "x = torch.zeros_like(self.made(x)).cuda()", False),
    ],
)
def test_what_a_function_makes_of_a_copy_is_uploaded_by_all_that_call_it(made, uses, returns):
    files = texts(HELPER.format(made=made, uses=uses))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert (round_trip(file, next(file.hot_calls("cpu"))) is not None) is returns


REWORKED = """
def flip_back(maps, pairs):
    {worked}

class Pose(nn.Module):
    def forward(self, x: torch.Tensor, pairs: list):
        x = flip_back(x.to("cuda").cpu().numpy(), pairs)
        return torch.from_numpy(x.copy()).cuda()
"""


@pytest.mark.parametrize(
    ("worked", "returns"),
    [
        ("return maps[:, :, :, ::-1]", True),
        ("maps = np.flip(maps)\n    for a, b in pairs:\n        maps[[a, b]] = maps[[b, a]]\n    return maps", True),
        ("mean = maps.mean(axis=1)\n    return maps - mean.reshape(-1, 1)", True),
        ("return np.linalg.eig(maps)", False),
        ("return solve(maps)", False),
        ("return np.zeros(maps.shape)", False),
        ("return maps.shape[0], maps", False),
        ("for a in pairs:\n        for b in a:\n            maps[b] = maps[a, b]\n    return maps", False),
        ("for t in range(1, 9):\n        maps[t] = maps[t - 1] + 1\n    return maps", False),
        ("for t, row in enumerate(maps):\n        maps[t] = row / 2\n    return maps", False),
        ("for row in maps:\n        row[0] = 0\n    return maps", False),
        ("turns = maps.argsort()\n    for t in turns:\n        maps[t] = 0\n    return maps", False),
        ("if maps.max() > 1:\n        maps = maps / 2\n    return maps", False),
        ("high = maps > 1\n    return maps / 2 if high.any() else maps", False),
        ("if maps.ndim == 3 or len(maps) == 1 or pairs:\n        maps = maps[None]\n    return maps", True),
        ("while maps.max() > 1:\n        maps = maps / 2\n    return maps", False),
        ("return pairs", False),
    ],
)
def test_a_function_that_only_slices_and_computes_may_stand_between(worked, returns):
    files = texts(REWORKED.format(worked=worked))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert (round_trip(file, next(file.hot_calls("cpu"))) is not None) is returns


@pytest.mark.parametrize(
    ("packed", "trips"),
    [
        ("pack_padded_sequence(x, n)", False),
        ("nn.utils.rnn.pack_padded_sequence(x, lengths=n[some])", False),
        ("pack_padded_sequence(n, [1, 2])", True),
        ("solve(x, n)", True),
    ],
)
def test_lengths_of_a_packed_sequence_are_needed_on_the_host(packed, trips):
    code = f"n = x.sum(1).cpu()\nsome = n > 0\nz = {packed}\ny[some] = 0"
    files = texts(HEAD + indent(f"for i in range(9):\n{indent(code, '    ')}", "    ") + "\n")
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    site = next(file.looped_calls("cpu"))
    assert (round_trip(file, site) is not None) is trips
    assert is_packed(file, site) is not trips
