"""Pieces that a training loop cuts from a tensor in host memory and copies to the device one by one."""

import pytest
from calls_in import site_of

from torchperf_lint.facts.loaders.cut_on_host import cut_on_host


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
        ("data[i : i + 64].float().to(device)", False),  # what is converted is not pinned
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


@pytest.mark.parametrize(
    ("inside", "move"),
    [
        ("", "data[i].to(device)"),
        ("j = np.random.choice(10)", "data[j].to(device)"),
        ("j = np.random.randint(0, 10)", "data[j, :3, :4].cuda()"),
        ("j = np.random.randint(10)\npiece = data[j]", "piece.to(device)"),
    ],
)
def test_one_element_by_a_number_that_the_turn_counts_or_draws(inside, move):
    found = cut(inside, move=move)
    assert (found.whole.id, found.rows) == ("data", True)


@pytest.mark.parametrize("move", ["torch.from_numpy(data[i]).to(device)", "torch.Tensor(data[i]).cuda()"])
def test_one_row_of_an_array(move):
    found = cut("", "data = np.load(path)", move)
    assert (found.whole.id, found.array) == ("data", True)


def test_whichever_of_two_bindings_holds():
    assert cut("", "data = torch.randn(9, 2)\nif path:\n    data = torch.zeros(9, 2)").whole.id == "data"


def test_variables_of_old_are_the_piece_itself():
    move = "torch.autograd.Variable(piece).cuda()"
    assert cut("piece = data[:, i : i + 64]", move=move).whole.id == "data"


def test_a_variable_of_old_that_only_it_binds():
    assert cut("data = torch.autograd.Variable(data)", before="", move="data.cuda()") is None
    assert cut("x = torch.autograd.Variable(x)", move="x.cuda()") is None


def test_a_name_of_the_loop_for_the_piece():
    assert cut("piece = data[i : i + 64]", move="piece.to(device)").whole.id == "data"


@pytest.mark.parametrize(
    ("inside", "before", "move"),
    [
        ("", "data = torch.randn(1000, 20, device=device)", "data[i : i + 64].to(device)"),
        ("", "data = torch.randn(1000, 20)", "data[:64].to(device)"),  # the same part: TPL208's
        ("", "data = torch.randn(1000, 20)", "data[path].to(device)"),  # nobody knows what that is
        ("j = np.random.choice(10, 64)", "data = torch.randn(1000, 20)", "data[j].to(device)"),  # gathered anew
        ("j = 5 if path else 6", "data = torch.randn(1000, 20)", "data[j].to(device)"),
        ("j = np.random.choice(10)", "data = torch.randn(1000, 20)", "data[j, path].to(device)"),
        ("data = torch.randn(1000, 20)", "", "data[i : i + 64].to(device)"),  # made anew in each turn
        ("", "data = path", "data[i : i + 64].to(device)"),  # nobody knows
        ("", "data = torch.randn(1000, 20)", "data[i : i + 64].to('cpu')"),
        ("", "data = torch.randn(1000, 20)", "data[i : i + 64].to(torch.float16)"),
        ("", "data = next(iter(loader))[0]", "data[i : i + 64].to(device)"),  # a batch in parts
        ("", "data = torch.randn(1000, 20)\npiece = data[3:path]", "piece.to(device)"),  # cut once
        ("data[i] = path", "data = torch.zeros(1000, 20)", "data[i : i + 64].to(device)"),  # filled meanwhile
        ("", "data = np.load(path)", "torch.from_numpy(data[:64]).to(device)"),  # the same piece
        ("", "data = np.load(path)", "torch.from_numpy(data[i : i + 64])"),  # stays
        ("rows = np.random.randint(0, 9, 64)", "data = np.load(path)", "torch.from_numpy(data[rows]).to(device)"),
        ("data = np.load(path)", "", "torch.from_numpy(data[i : i + 64]).to(device)"),
    ],
)
def test_other_moves(inside, before, move):
    assert cut(inside, before, move) is None


ARRAY = "torch.from_numpy(data[i : i + 64]).to(device)"
SLICE = "data[i : i + 64].to(device)"


@pytest.mark.parametrize(
    ("inside", "before", "move"),
    [
        ("np.copyto(data, path)", "data = np.zeros((1000, 20))", ARRAY),  # filled again by a function
        ("path.readinto(data)", "data = np.zeros((1000, 20))", ARRAY),
        ("np.add(data, 1, out=data)", "data = np.zeros((1000, 20))", ARRAY),
        ("data.append(path)", "data = []", "torch.tensor(data[i : i + 64]).to(device)"),
        ("view[i] = path", "data = np.zeros((1000, 20))\nview = data", ARRAY),  # by another name
        ("piece = data[i : i + 64]\npiece[0] = 0", "data = np.zeros((1000, 20))", "torch.from_numpy(piece).to(device)"),
        ("data[i : i + 64] += 1", "data = torch.zeros(1000, 20)", SLICE),
        ("data[i : i + 64].mul_(2)", "data = torch.zeros(1000, 20)", SLICE),
        ("data.copy_(path)", "data = torch.zeros(1000, 20)", SLICE),
        ("torch.randn(1000, 20, out=data)", "data = torch.zeros(1000, 20)", SLICE),
        ("y = data[i + 1 : i + 65]\ny[0] = -100", "data = torch.zeros(1000, 20)", SLICE),
        ("", "def refill():\n    data[:] = path\ndata = torch.zeros(1000, 20)", SLICE),  # from within
        ("", "data = path.states", ARRAY),  # a buffer of somebody else
        ("", "data = np.memmap(path)", ARRAY),  # on disk
        ("", "data = np.load(path, mmap_mode='r')", ARRAY),
        ("", "data = path['images']", ARRAY),
        ("", "data = torch.zeros(1000, 20)", "data[path : path + 64].to(device)"),  # the same piece each turn
        ("", "data = torch.zeros(1000, 20)", "data[:-1].to(device)"),
        ("", "data = torch.zeros(1000, 20).pin_memory()", SLICE),
    ],
)
def test_what_may_change_or_is_not_in_memory(inside, before, move):
    assert cut(inside, before, move) is None
