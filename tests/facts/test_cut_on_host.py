"""Pieces that a training loop cuts from a tensor in host memory and copies to the device one by one."""

import pytest
from calls_in import site_of

from torchperf_lint.facts.cut_on_host import cut_on_host


def cut(inside, before="data = torch.randn(1000, 20)", move="data[i : i + 64].to(device)"):
    """What is found where a step of training moves something."""
    text = "def train(model: nn.Module, optimizer, path, device, loader):\n"
    text += "".join(f"    {line}\n" for line in before.splitlines())
    text += "    for i in range(0, 1000, 64):\n"
    text += "".join(f"        {line}\n" for line in inside.splitlines())
    text += f"        x = {move}\n        model(x).sum().backward()\n        optimizer.step()\n"
    return cut_on_host(site_of(text, move))


@pytest.mark.parametrize(
    ("move", "rows"),
    [
        ("data[i : i + 64].to(device)", True),
        ("data[i:].cuda()", True),
        ("data[:, i : i + 8].to(device)", False),
        ("data[order[i : i + 64]].to(device)", False),
    ],
)
def test_another_piece_in_each_turn(move, rows):
    found = cut("order = torch.randperm(1000)", move=move)
    assert (found.whole.id, found.rows) == ("data", rows)


@pytest.mark.parametrize("before", ["data = torch.from_numpy(np.load(path))", "data = torch.LongTensor(1000)"])
def test_whatever_made_it_on_the_host(before):
    assert cut("", before).whole.id == "data"


@pytest.mark.parametrize(
    "move",
    [
        "torch.from_numpy(data[i : i + 64]).to(device)",
        "torch.from_numpy(data[order[i : i + 64]]).float().cuda()",
        "torch.tensor(data[i : i + 64], device=device)",
        "torch.as_tensor(data[order[i : i + 64]]).to(device)",
    ],
)
def test_arrays_of_which_each_turn_makes_a_tensor(move):
    found = cut("order = np.random.permutation(1000)", "data = np.load(path)", move)
    assert (found.whole.id, found.array) == ("data", True)


def test_a_name_of_the_loop_for_the_places():
    move = "torch.tensor(data[rows]).to(device)"
    found = cut("rows = order[i : i + 64]", "data, order = np.load(path), loader", move)
    assert (found.whole.id, found.rows) == ("data", False)


def test_a_name_of_the_loop_for_the_piece():
    assert cut("piece = data[i : i + 64]", move="piece.to(device)").whole.id == "data"


@pytest.mark.parametrize(
    ("inside", "before", "move"),
    [
        ("", "data = torch.randn(1000, 20, device=device)", "data[i : i + 64].to(device)"),
        ("", "data = torch.randn(1000, 20)", "data[:64].to(device)"),  # the same part: TPL208's
        ("", "data = torch.randn(1000, 20)", "data[i].to(device)"),  # one sample
        ("data = torch.randn(1000, 20)", "", "data[i : i + 64].to(device)"),  # made anew in each turn
        ("", "data = path", "data[i : i + 64].to(device)"),  # nobody knows
        ("", "data = torch.randn(1000, 20)", "data[i : i + 64].to('cpu')"),
        ("", "data = torch.randn(1000, 20)", "data[i : i + 64].to(torch.float16)"),
        ("", "data = next(iter(loader))[0]", "data[i : i + 64].to(device)"),  # a batch in parts
        ("", "data = torch.randn(1000, 20)\npiece = data[3:path]", "piece.to(device)"),  # cut once
        ("data[i] = path", "data = torch.zeros(1000, 20)", "data[i : i + 64].to(device)"),  # filled meanwhile
        ("", "data = np.load(path)", "torch.from_numpy(data[:64]).to(device)"),  # the same piece
        ("", "data = np.load(path)", "torch.from_numpy(data[i]).to(device)"),
        ("", "data = np.load(path)", "torch.from_numpy(data[i : i + 64])"),  # stays
        ("rows = np.random.randint(0, 9, 64)", "data = np.load(path)", "torch.from_numpy(data[rows]).to(device)"),
        ("data = np.load(path)", "", "torch.from_numpy(data[i : i + 64]).to(device)"),
    ],
)
def test_other_moves(inside, before, move):
    assert cut(inside, before, move) is None
