"""What a function copies to the host although it has uploaded it itself."""

from __future__ import annotations

from textwrap import indent

import pytest
from snippets import texts

from torchperf_lint.facts.copies.uploaded import uploaded_on
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

MOVE_ALL = "def move_all(batch, device):\n    for k, v in batch.items():\n        batch[k] = v.to(device)\n\n"
HEAD = "def evaluate(model: nn.Module, loader: DataLoader, tokenizer, device, to_list):\n    seen = []\n"
MOVER = "def to_device(batch, device):\n    return batch.to(device)\n\n"
MOVE_PARTS = (
    "def all_to(data, device):\n    if torch.is_tensor(data):\n        return data.to(device)\n"
    "    return {k: all_to(v, device) for k, v in data.items()}\n\n"
)
COMPOSE = (
    "from torchvision import transforms\n\ndef compose():\n    return transforms.Compose([Stack(), AsTensor()])\n\n"
)
BOTH = "def both(x, y, device):\n    x, y = x.to(device), y.to(device)\n    return net(x), y\n\n"


def uploaded(code):
    """Whether what the first `.cpu()` of a function copies is said to have been uploaded there."""
    helpers = COMPOSE + MOVER + MOVE_ALL + MOVE_PARTS + BOTH
    files = texts(helpers + HEAD + "    for x, y in loader:\n" + indent(code, " " * 8) + "\n")
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    site = next(iter(file.hot_calls("cpu")))
    return uploaded_on(file, site, site.receiver) is not None


@pytest.mark.parametrize(
    "code",
    [
        "y = y.to(device)\nseen.append(y.cpu())",
        "y = y.cuda(non_blocking=True)\nseen.extend(y.detach().view(-1).cpu().tolist())",
        "x, y = x.to(device), y.to(device)\nseen.append(y[0].cpu())",
        "x, y = to_device(x, device), to_device(y, device)\nseen.append(y.cpu())",
        "target = y\nlabels = target.long().to(device)\nseen.append(labels.cpu())",
        "ids = tokenizer(x, return_tensors='pt').to(device)\nseen.append(ids['input_ids'].cpu())",
        "ids = tokenizer(x, return_tensors='pt')\nids = ids.to(device)\nseen.append(ids.input_ids.cpu())",
        "z = torch.from_numpy(to_list(y)).to(device)\nseen.append(z.cpu())",
        "z = y.long()\nif device:\n    z = z.to(device)\nseen.append(z.cpu())",
        "u, z = map(lambda t: t.to(device), (x, y))\nseen.append(z.cpu())",
        "y = all_to(y, device)\nseen.append(y['ids'].cpu())",
        "pair = tuple(t.to(device) for t in (x, y))\nu, z = pair\nseen.append(z.detach().cpu())",
        "pair = [x.to(device), y.to(device)]\nd = {'x': pair[0], 'y': pair[1]}\nseen.append(d['y'].cpu())",
        "y = y.float().to(device)\ny = y[:, -3:].to(device)\nseen.append(y.detach().cpu())",
        "z, u = both(x, y, device)\nseen.append(u.cpu())",
        "n = torch.full((len(x),), x.shape[1], device=model.device)\nseen.append(n.cpu())",
        "n = torch.tensor([1, 2, 3], device='cuda')\nseen.append(n.cpu())",
        "y = y.to(device)\np = model(x).gather(1, y)\nseen.append(y.cpu())",
        "y = y.to(device)\nhot = torch.zeros(3, 9, device=device)\nhot.scatter_(1, y, 1)\nseen.append(y.cpu())",
        "y = y.to(device)\ny_all = accelerator.gather(y)\nseen.append(y.cpu())",
        "n = torch.tensor([1, 2, 3], device='cuda')\nprint(n)\nz = net(x, n)\nseen.append(n.cpu())",
        "n = torch.as_tensor(np.ones(3), device='cuda')\nseen.append(n.cpu())",
        "x['y'] = x['y'].to(device)\nseen.append(x['y'].cpu())",
        "for k, v in x.items():\n    x[k] = v.to(device)\nseen.append(x['y'].view(-1, 3).cpu())",
        "move_all(x, device)\nseen.append(x['y'].cpu())",
        "if device:\n    y = y.cuda()\nseen.append(y.cpu())",
        "if device:\n    x, y = x.cuda(), y.cuda()\nx, y = Variable(x), Variable(y)\nseen.append(y.data.cpu())",
        "if device:\n    y = y.to(device)\ny = y.long()\nseen.append(y.cpu())",
        "y = y.to(device)\nif device:\n    y = y.half()\nseen.append(y.cpu())",
        "tf = transforms.Compose([Stack()])\nz = tf(to_list(y)).unsqueeze(0).to(device)\nseen.append(z.cpu())",
        "z = compose()(to_list(y)).unsqueeze(0)\nz = z.to(device)\nseen.append(z[0].cpu())",
        "[u, z] = [x['u'], x[0]]\nif device:\n    u, z = u.cuda(), z.cuda()\nz = Variable(z)\nseen.append(z.cpu())",
    ],
)
def test_it_was_there_before(code):
    assert uploaded(code)


@pytest.mark.parametrize(
    "code",
    [
        "if device:\n    y = model(x.cuda())\nseen.append(y.cpu())",
        "u, z = map(lambda t: model(t.to(device)), (x, y))\nseen.append(z.cpu())",
        "y = all_to(model(x.cuda()), device)\nseen.append(y['ids'].cpu())",
        "if device:\n    y = y.cuda() * 2\nseen.append(y.cpu())",
        "if device:\n    y = y.cuda()\n    y.mul_(2)\nseen.append(y.cpu())",
        "if device:\n    y = y.cuda()\ny = model(y)\nseen.append(y.cpu())",
        "if device:\n    y = y.to('cpu')\nseen.append(y.cpu())",
        "n = torch.full((3,), x.shape[1], device='cuda')\nn[0] = 2\nseen.append(n.cpu())",
        "x['y'] = x['y'].to(device)\nx['y'] = net(x['y'])\nseen.append(x['y'].cpu())",
        "x['y'] = x['y'].to(device)\nx = {k: v for k, v in net(x).items()}\nseen.append(x['y'].cpu())",
        "move_all(x, device)\nx = {k: v for k, v in net(x).items()}\nseen.append(x['y'].cpu())",
        "for k, v in x.items():\n    x[k] = net(v.to(device))\nseen.append(x['y'].cpu())",
        "move_all(x, device)\nmove_all(x, 'cpu')\nseen.append(x['y'].cpu())",
        "move_all(x, device)\nx['z'] = net(x['y'])\nseen.append(x['z'].cpu())",
        "n = torch.full((3,), model(x), device='cuda')\nseen.append(n.cpu())",
        "n = torch.tensor([1], device='cuda')\ndist.all_reduce(n)\nseen.append(n.cpu())",
        "n = torch.tensor([1], device='cuda')\nwork = all_reduce_tensor(n)\nseen.append(n.cpu())",
        "n = torch.full((3,), 0, device='cuda')\nops.count(x, n)\nseen.append(n.cpu())",
        "y = y.to(device)\ndist.broadcast(y, 0)\nseen.append(y.cpu())",
        "n = torch.tensor([1], device='cuda')\ntorch.sum(x, out=n)\nseen.append(n.cpu())",
        "n = torch.tensor([1], device='cuda')\nops.count(x, into=n)\nseen.append(n.cpu())",
        "n = torch.tensor([1], device='cuda')\ndist.all_reduce_coalesced([n])\nseen.append(n.cpu())",
        "n = torch.tensor([model(x), model(y)], device='cuda')\nseen.append(n.cpu())",
        "out = model(x.to(device))\nseen.append(out.cpu())",
        "y = y.to(device)\ny = y * 2\nseen.append(y.cpu())",
        "y = y.to(device)\ny[y == 255] = 0\nseen.append(y.cpu())",
        "y = y.to(device)\ny.clamp_(0)\nseen.append(y.cpu())",
        "y = y.to(device)\ny += 1\nseen.append(y.cpu())",
        "y = model(x).to(device)\nseen.append(y.cpu())",
        "d = {'y': y.to(device)}\nd['y'] = model(x)\nseen.append(d['y'].cpu())",
        "d = {'x': x.to(device), 'y': model(x)}\nseen.append(d['y'].cpu())",
        "z, u = both(x, y, device)\nseen.append(z.cpu())",
        "z = model(x.to(device))\nif device:\n    z = y.to(device)\nseen.append(z.cpu())",
        "z = y.long()\nif device:\n    z = model(z.to(device))\nseen.append(z.cpu())",
        "y = y.to(torch.float32)\nseen.append(y.cpu())",
        "if seen:\n    y = model(x)\nelse:\n    y = y.to(device)\nseen.append(y.cpu())",
    ],
)
def test_it_is_new_to_the_host(code):
    assert not uploaded(code)


FED = """
class Restoration:
    def feed_data(self, data):
        self.lq = data["lq"].cuda()
        self.gt, self.mask = data["gt"].to("cuda"), data["mask"].to("cuda")

    def optimize_parameters(self):
        self.out = self.net(self.lq)
        self.lq = self.lq * 2
        self.mask.clamp_(0)
        self.criterion(self.out, self.gt).backward()
        self.optimizer.step()

    def visuals(self):
        return {expression}
"""


@pytest.mark.parametrize(
    ("expression", "was_there"),
    [
        ("self.gt.detach().cpu()", True),
        ("self.gt[0].cpu()", True),
        ("self.lq.detach().cpu()", False),
        ("self.mask.cpu()", False),
        ("self.out.cpu()", False),
    ],
)
def test_attributes_that_are_only_ever_uploaded(expression, was_there):
    files = texts(FED.format(expression=expression))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    site = next(s for s in file.calls_among(file.outline.calls) if s.record.callee.endswith("cpu"))
    assert (uploaded_on(file, site, site.receiver) is not None) is was_there


def second_loop(second):
    """Whether the first `.cpu()` of a loop that validates copies what it uploaded, behind one that trains."""
    loop = "    for batch in {}:\n        for k, v in batch.items():\n            batch[k] = v.to(device)\n"
    train, validate = loop.format("loader"), loop.format("loader") + indent(second, " " * 8)
    kept = "seen.append(batch['y'].cpu())"
    files = texts(f"{HEAD}{train}        net(batch['x']).backward()\n{validate}\n        {kept}\n")
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    site = next(iter(file.hot_calls("cpu")))
    return uploaded_on(file, site, site.receiver) is not None


def test_batches_of_an_earlier_loop_are_others():
    assert second_loop("net(batch['x'])")
    assert not second_loop("batch['y'] = net(batch['x'])")
