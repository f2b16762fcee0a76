"""What a step computes on the host from a batch, and copies then."""

from textwrap import dedent, indent

import pytest
from calls_in import site_of

from torchperf_lint.facts.loaders.computed_from_batch import computed_from_batch

LOOP = """\
def augment(points):
    return points + np.random.normal(size=points.shape)

def resized(labels, size):
    made = []
    for label in labels:
        made.append(np.resize(label.float().numpy(), size))
    return torch.LongTensor(made)

def train(model, dataset, optimizer, table):
    loader = DataLoader(dataset, batch_size=8)
    device = torch.device("cuda")
    for x, y in loader:
{turn}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def asked(turn, call):
    return computed_from_batch(site_of(LOOP.format(turn=indent(dedent(turn).strip(), " " * 8)), call))


@pytest.mark.parametrize(
    ("turn", "call"),
    [
        ("parts = torch.chunk(y, 4)\nfor i in range(4):\n    loss = model(parts[i].to(device))", "parts[i].to(device)"),
        ("mask = (torch.relu(x) > 0).float()\nloss = model(mask.to(device))", "mask.to(device)"),
    ],
)
def test_what_torch_computed(turn, call):
    found = asked(turn, call)
    assert found is not None
    assert found.by_torch
    assert "DataLoader" in found.batch.because


@pytest.mark.parametrize(
    ("turn", "call"),
    [
        ("x = x.numpy()\nx = augment(x)\nx = torch.Tensor(x)\nloss = model(x.cuda())", "x.cuda()"),
        ("loss = model(torch.from_numpy(x.numpy()[:, ::-1].copy()).to(device))",
         "torch.from_numpy(x.numpy()[:, ::-1].copy()).to(device)"),
        ("labels = resized(y, (4, 4))\nloss = model(labels.to(device))", "labels.to(device)"),
    ],
)  # fmt: skip
def test_what_numpy_or_the_project_worked_out(turn, call):
    found = asked(turn, call)
    assert found is not None
    assert not found.by_torch


@pytest.mark.parametrize(
    ("turn", "call"),
    [
        ("loss = model(x.to(device))", "x.to(device)"),  # the batch itself, which others tell
        ("loss = model(torch.zeros(x.size(0), 3).to(device))", "torch.zeros(x.size(0), 3).to(device)"),
        ("h = torch.zeros_like(x)\nloss = model(h.to(device))", "h.to(device)"),
        ("n = torch.tensor(len(y))\nloss = model(n.to(device))", "n.to(device)"),
        ("x = x.to(device)\nz = torch.relu(x)\nloss = model(z.to(device))", "z.to(device)"),
        ("n = torch.from_numpy(model(x).cpu().numpy() - x.numpy())\nloss = model(n.to(device))", "n.to(device)"),
        ("n = torch.LongTensor(augment(x.cpu().numpy()))\nloss = model(n.to(device))", "n.to(device)"),
        ("t = torch.from_numpy(table)\nloss = model(t.to(device))", "t.to(device)"),
        ("z = torch.relu(x)\nloss = model(z).sum() + z.to('cpu').sum()", "z.to('cpu')"),
        ("z = x if optimizer else table\nloss = model(z.to(device))", "z.to(device)"),
    ],
)
def test_what_is_no_result_on_the_host(turn, call):
    assert asked(turn, call) is None


def test_numbers_and_arrays_that_a_loop_goes_over_are_no_batches():
    code = dedent("""
        def train(net, arrays, optimizer):
            for array in arrays:
                x = torch.from_numpy(array).to("cuda")
                loss = net(x).mean()
                loss.backward()
                optimizer.step()
    """)
    assert computed_from_batch(site_of(code, 'torch.from_numpy(array).to("cuda")')) is None
