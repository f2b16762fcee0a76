"""Tensors made on the host to index one on the device."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.host_indices import host_indices
from torchperf_lint.model import Confidence

CODE = """
    class Net(nn.Module):
        def forward(self, x: torch.Tensor, labels: torch.Tensor, n: int, given: list):
            x = x.cuda()
            order = torch.randperm(x.size(0))
            return {expression}
"""


def indices_of(expression):
    files = texts(CODE.format(expression=expression))
    return list(host_indices(SourceFile(Project.of_texts(files), "a.py", files["a.py"])))


@pytest.mark.parametrize(
    ("expression", "index"),
    [
        ("x[torch.arange(x.size(0)), labels]", "torch.arange(x.size(0))"),
        ("x[order]", "order"),
        ("x[torch.rand(x.size(0)) > 0.5]", "torch.rand(x.size(0)) > 0.5"),
    ],
)
def test_an_index_on_the_host_is_copied(expression, index):
    (found,) = indices_of(expression)
    assert ast.unparse(found.spot.expression) == index
    assert found.fresh.value.confidence is Confidence.LIKELY


@pytest.mark.parametrize(
    ("expression", "index"),
    [("x[[2, 0]]", "[2, 0]"), ("x[:, [n]]", "[n]"), ("x[[len(given)], 0]", "[len(given)]")],
)
def test_a_list_becomes_a_tensor_on_the_host(expression, index):
    (found,) = indices_of(expression)
    assert (ast.unparse(found.spot.expression), found.fresh, found.device) == (index, None, "x.device")


@pytest.mark.parametrize(
    "expression",
    [
        "x[torch.arange(x.size(0), device=x.device)]",
        "x[order[0]]",
        "torch.zeros(3)[order]",
        "torch.zeros(3)[[2, 0]]",
        "x[labels]",
        "x[0]",
        "x[given]",
        "x[[given, n]]",
        "x[[]]",
        "[[0, 1]]",
        "[x[i, : n + i] + x[i] for i in torch.arange(n)]",
    ],
)
def test_other_indices_are_left_alone(expression):
    assert indices_of(expression) == []


def test_one_tensor_indexes_several_and_is_made_once():
    one, other = indices_of("x[order] + x[order]")
    assert one.of == other.of


KEPT = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.rows = torch.arange(4)
            self.register_buffer("columns", torch.arange(4))

        def forward(self, x: torch.Tensor):
            x, y = x.cuda(), torch.ones(3, device="cuda")
            order = np.random.permutation(self.names)
            single = np.random.permutation(self.names)
            return {expression}
"""


def kept_of(expression):
    files = texts(KEPT.format(expression=expression))
    return [found.source for found in host_indices(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))]


@pytest.mark.parametrize(
    ("expression", "sources"),
    [
        ("x[self.rows], y[self.rows]", ["`self.rows` stayed in host memory"] * 2),
        ("x[self.rows.view(-1)]", ["`self.rows` stayed in host memory"]),
        ("x[self.columns]", []),
        ("x[order], y[order]", ["the array `order` is host memory"] * 2),
        ("x[single]", []),
        ("x[order], self.table[order]", ["the array `order` is host memory"]),
    ],
)
def test_an_index_that_was_there_before(expression, sources):
    assert kept_of(expression) == sources


MADE = """
    class Net(nn.Module):
        def __init__(self, kept, names):
            super().__init__()
            self.kept = list(kept)
            self.seen = []

        def forward(self, x: torch.Tensor, labels: torch.Tensor, parts: dict, n: int, given: list):
            x, y = x.cuda(), torch.ones(3, device="cuda")
            self.seen.append(n)
            picked = torch.randint(0, n, (8,))
            picked[picked >= n - 1] += 1
            flags = torch.zeros(n, dtype=torch.bool)
            flags[given] = True
            mask = np.zeros(n, dtype=bool)
            mask[::2] = True
            mask = torch.from_numpy(mask)
            rows = list(range(n))
            some = np.random.choice(self.names, size=8)
            return {expression}
"""


def made_of(expression):
    files = texts(MADE.format(expression=expression))
    return [found.source for found in host_indices(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))]


@pytest.mark.parametrize(
    ("expression", "sources"),
    [
        ("x[range(n), labels]", ["`range(n)` becomes a tensor in host memory"]),
        ("x[rows, labels]", ["`range(n)` becomes a tensor in host memory"]),
        ("x[picked]", ["`torch.randint(...)` fills host memory"]),
        ("x[picked.view(-1), 0]", ["`torch.randint(...)` fills host memory"]),
        ("x[flags]", []),
        ("x[mask]", []),
        ("x[mask], y[mask]", ["`mask` is host memory (`torch.from_numpy`, line 23)"] * 2),
        ("x[mask], some[mask]", []),
        ("x[:, self.kept]", ["the list `self.kept` becomes a tensor in host memory"]),
        ("x[:, self.seen]", []),
        ("[t[some] for t in (x, y)]", ["the array `some` is host memory"]),
        ("x[some]", []),
    ],
)
def test_an_index_that_was_made_some_lines_before(expression, sources):
    assert made_of(expression) == sources


COUNTED = """
    def bans(n):
        return [[k] for k in range(n)]

    def train(model, data, features, opt, device, n):
        source, target = data.source.to("cuda"), data.target.to("cuda")
        table = np.arange(n)
        numbers = DataLoader(range(n), 64)
        rows_of = DataLoader(features, 64)
        for {loop}:
            {body}
            loss = model(picked, target).sum()
            loss.backward()
            opt.step()
"""


def counted(loop, body):
    files = texts(COUNTED.format(loop=loop, body=body))
    found = host_indices(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))
    return [ast.unparse(index.spot.expression) for index in found]


@pytest.mark.parametrize(
    ("loop", "body", "indices"),
    [
        ("rows in DataLoader(range(n), 64, shuffle=True)", "picked = source[rows]", ["rows"]),
        ("rows in tqdm(numbers)", "picked = source[rows].t()", ["rows"]),
        ("rows in rows_of", "picked = source[rows], target[rows]", ["rows", "rows"]),
        ("rows in rows_of", "picked = source[rows]", []),
        ("rows in numbers", "picked = table[rows]", []),
        ("rows in numbers", "rows = rows.to('cuda'); picked = source[rows]", []),
        ("i in range(n)", "at = torch.arange(n), target; picked = source[at]", ["at"]),
        ("i in range(n)", "at = target, torch.arange(n, device='cuda'); picked = source[at]", []),
        ("i in range(n)", "picked = target\n            for k, ban in enumerate(bans(n)): picked[k, ban] = 0", ["ban"]),
        ("i in range(n)", "picked = target\n            for k, x in enumerate(target): picked[k, x] = 0", []),
        ("i in range(n)", "picked = target\n            for ban in bans(n): picked[ban, :3] = 0", []),
        ("i, ban in enumerate([[1, 2]])", "picked = target; picked[0, ban] = 0", []),
        ("i in range(n)", "at = i, torch.arange(n); at = i, target; picked = source[at]", []),
        (
            "i in range(n)",
            "c = torch.stack(torch.meshgrid(torch.arange(n), torch.arange(n)), -1); c = torch.reshape(c, [-1, 2]); "
            "picked = source[c[:, 0], 1], target[c[:, 0]]",
            ["c[:, 0]", "c[:, 0]"],
        ),
        ("i in range(n)", "c = torch.cat([torch.from_numpy(table), torch.ones(2)]); picked = source[c]", []),
    ],
)
def test_an_index_of_a_training_loop(loop, body, indices):
    assert counted(loop, body) == indices


WRITTEN = """
    class Net(nn.Module):
        def forward(self, x: torch.Tensor, n: int):
            x = x.cuda()
            mask = torch.zeros(n, dtype=torch.bool)
{writing}
            return x[mask]
"""


@pytest.mark.parametrize(
    ("writing", "found"),
    [
        ("            mask[self.left_out] = True", 1),
        ("            for i in range(n):\n                mask[self.left_out[i]] = True", 0),
        ("            mask[self.chosen(n)] = True", 0),
    ],
)
def test_a_number_or_two_may_be_written_on_the_device_as_well(writing, found):
    files = texts(WRITTEN.format(writing=writing))
    assert len(list(host_indices(SourceFile(Project.of_texts(files), "a.py", files["a.py"])))) == found


CONFIGURED = """
    class Head(nn.Module):
        def __init__(self, config, kept):
            self.config = config
            self.targets = config.target_indices
            self.first = config.target_index
            self.kept = config.kept_indices
            self.net = nn.Linear(2, 2)

        def keep(self, kept):
            self.kept = kept

        def forward(self, x: torch.Tensor):
            x = self.net(x.cuda())
            return {expression}
"""


@pytest.mark.parametrize(
    ("expression", "listed"),
    [
        ("x[..., self.config.target_indices]", True),
        ("x[..., self.net.config.channel_inds]", True),
        ("x[..., self.targets]", True),
        ("x[..., self.config.target_index]", False),
        ("x[..., self.first]", False),
        ("x[..., self.kept]", False),
        ("x[..., self.net.target_indices]", False),
    ],
)
def test_a_list_that_a_configuration_holds(expression, listed):
    files = texts(CONFIGURED.format(expression=expression))
    found = list(host_indices(SourceFile(Project.of_texts(files), "a.py", files["a.py"])))
    assert bool(found) is listed


TABLE = """
    class Planes(nn.Module):
        def __init__(self, given):
            super().__init__()
            self.planes = [[0, 1], [0, 2], [1, 2]]
            self.order = [2, 1, 0]
            self.places = [(0, 1), (1, 2)]
            self.rows = torch.arange(4)
            self.given = given
            self.mixed = [[0, 1], given]
            self.reset = [[0], [1]]
            self.grown = [[0], [1]]
            self.filled = [[0], [1]]
            self.names = ["a", "b"]
            self.net = nn.Linear(2, 2)

        def again(self, rows):
            self.reset = rows
            self.grown.append(rows)
            self.filled[0] = rows

    class Net(Planes):
        def forward(self, x: torch.Tensor, parts: dict, n: int):
            x = self.net(x.cuda())
            y = [[1, 2], [3, 4]]
            for i in range(3):
                x = {expression}
            return x
"""


@pytest.mark.parametrize(
    ("expression", "listed"),
    [
        ("x[..., self.planes[0]]", ["self.planes[0]"]),
        ("x[self.planes[-1]]", ["self.planes[-1]"]),
        ("x[:, self.planes[i]] + x[:, self.planes[0]]", ["self.planes[i]", "self.planes[0]"]),
        ("x[..., self.order[0]]", []),  # a number
        ("x[self.places[0]]", []),  # one index of each axis
        ("x[self.rows[i]]", []),
        ("x[self.given[0]]", []),
        ("x[self.mixed[0]]", []),
        ("x[self.reset[0]]", []),
        ("x[self.grown[0]]", []),
        ("x[self.filled[0]]", []),
        ("x[self.planes[0][1]]", []),
        ("y[self.planes[0][1]]", []),
        ("parts[self.names[0]]", []),
        ("x.cpu()[..., self.planes[0]]", []),
        ("x[..., self.net.planes[0]]", []),
    ],
)
def test_a_row_of_a_table_of_indices(expression, listed):
    files = texts(TABLE.format(expression=expression))
    found = list(host_indices(SourceFile(Project.of_texts(files), "a.py", files["a.py"])))
    assert [ast.unparse(one.spot.expression) for one in found] == listed


PACKED = """
    from torch.nn.utils.rnn import pack_padded_sequence

    class Net(nn.Module):
        def forward(self, x: torch.Tensor, mask: torch.Tensor):
            x, mask = x.cuda(), mask.cuda()
            lengths = {lengths}
            some = lengths > 0
            packed = pack_padded_sequence(x, {given})
            return x[some], packed
"""


@pytest.mark.parametrize(
    ("lengths", "given", "found"),
    [
        ("mask.sum(1).cpu()", "lengths[some].clamp(min=1)", True),
        ("mask.sum(1).cpu()", "lengths=lengths", True),
        ("mask.sum(1)", "lengths.cpu()", False),
        ("mask.sum(1).cpu()", "mask.sum(1).tolist()", False),
    ],
)
def test_a_mask_of_lengths_that_were_copied_to_be_packed(lengths, given, found):
    files = texts(PACKED.format(lengths=lengths, given=given))
    seen = host_indices(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))
    assert ([ast.unparse(one.spot.expression) for one in seen] == ["some"]) is found


BATCH = """
    from lightning import LightningModule

    def drawn(n):
        return {made}, 0.5

    class Net(LightningModule):
        def training_step(self, batch, batch_idx):
            x, y = batch
            order, share = None, None
            if self.mixes:
                order, share = drawn(len(y))
                x = x * share + {used}
            return self.net(x, y)
"""


@pytest.mark.parametrize(
    ("made", "used", "expected"),
    [
        ("torch.randperm(n)", "x[order]", ["order"]),
        ("torch.randint(n, (n,))", "x[order, :]", ["order"]),
        ("torch.randperm(n, device='cuda')", "x[order]", []),
        ("n - 1", "x[order]", []),
    ],
)
def test_a_part_of_a_batch_is_indexed_by_what_a_function_draws(made, used, expected):
    files = texts(BATCH.format(made=made, used=used))
    found = host_indices(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))
    assert [ast.unparse(index.spot.expression) for index in found] == expected
