"""Gradients nobody uses, gradients dropped twice, bytes widened on the host, tables computed anew."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.autograd.thrown_graphs import thrown_graphs
from torchperf_lint.facts.autograd.trainable import has_parameters
from torchperf_lint.facts.autograd.unowned_parameters import unowned_parameters
from torchperf_lint.facts.constants.constant_tables import constant_tables
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.loaders.widened import placed, widened
from torchperf_lint.facts.optimizers.zeroed_again import zeroed_again

NET = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.ReLU(), nn.Linear(8, 8))
            self.head = nn.Linear(8, 8)

        def forward(self, x):
            return self.head(self.body(x))

    """


def file_of(snippet):
    files = texts(snippet)
    return SourceFile(Project.of_texts(files), "a.py", files["a.py"])


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("nn.Linear(8, 8)", True),
        ("nn.Sequential(nn.ReLU(), nn.Conv2d(3, 8, 3)).to('cuda')", True),
        ("nn.ModuleList([nn.ReLU(), nn.Linear(8, 8)])", True),
        ("nn.ReLU()", False),
        ("nn.CrossEntropyLoss()", False),
        ("build()", False),
    ],
)
def test_modules_with_parameters(made, expected):
    file = file_of("")
    assert has_parameters(file.project, "a.py", 0, ast.parse(made, mode="eval").body) is expected


LOOP = """
        for x in DataLoader(data):
            loss = model(x).mean()
            loss.backward()
            optimizer.step()
    """


@pytest.mark.parametrize(
    ("given", "rest"),
    [
        ("model.head.parameters()", "`model.body`"),
        ("[*model.head.parameters()]", "`model.body`"),
        ("[{'params': model.head.parameters(), 'lr': 0.1}]", "`model.body`"),
        ("model.parameters()", None),
        ("[p for p in model.head.parameters()]", None),
        ("list(model.head.parameters()) + list(model.body.parameters())", None),
        ("select(model)", None),
    ],
)
def test_the_rest_of_a_model(given, rest):
    text = f"{NET}def run(data):\n        model = Net()\n        optimizer = torch.optim.SGD({given}, 0.1){LOOP}"
    found = [unowned.rest for unowned in unowned_parameters(file_of(text), ("torch.optim.SGD",))]
    assert found == ([rest] if rest else [])


@pytest.mark.parametrize(
    ("statement", "thrown"),
    [
        ("y = net(x).detach()", True),
        ("y = net(x).softmax(-1)[0].detach()", True),
        ("y = other(x).detach()", False),
        ("y = net.name(x).detach()", False),
        ("net.body.requires_grad_(False); y = net(x).detach()", False),
        ("net.head.weight.requires_grad = False; y = net(x).detach()", False),
        ("real = torch.ones(3, requires_grad=False); y = net(x).detach()", True),
        ("z = x.requires_grad_(); torch.autograd.grad(f(z), z, create_graph=True); y = net(x).detach()", True),
        ("x.requires_grad = True; y = net(x).detach()", True),
    ],
)
def test_graphs_that_are_thrown_away(statement, thrown):
    text = f"{NET}def run(data, model, optimizer):\n        net = Net().cuda()\n        for x in DataLoader(data):\n"
    text += f"            {statement}\n            model(y).mean().backward()\n            optimizer.step()\n"
    assert bool(list(thrown_graphs(file_of(text)))) is thrown


LISTED = """
    class Listed(nn.Module):
        def __init__(self, widths):
            super().__init__()
            layers = []
            for width in widths:
                layers += [nn.Conv2d(3, width, 3), nn.ReLU()]
            self.main = nn.Sequential(*layers)
            self.init_weights()

        def init_weights(self):
            self.main[0].weight.data.normal_()

        def forward(self, x):
            return self.main(x)


    class Pooled(nn.Module):
        def forward(self, x):
            return nn.AvgPool2d(2)(x)

    """


@pytest.mark.parametrize(
    ("made", "thrown"),
    [
        ("Listed([8])", True),
        ("Listed([8]) if data else Pooled()", False),
        ("Pooled()", False),
    ],
)
def test_networks_made_of_lists_of_layers(made, thrown):
    text = f"{LISTED}def run(data, model, optimizer):\n        net = {made}\n        for x in DataLoader(data):\n"
    text += "            y = net(x).detach()\n            model(y).mean().backward()\n            optimizer.step()\n"
    assert bool(list(thrown_graphs(file_of(text)))) is thrown


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("(x.float() / 255).to(device)", (False, "divided by 255")),
        ("(x.double() / 255).to(device)", (True, "divided by 255")),
        ("x.float().to(device).div(255)", (False, "divided by 255 afterwards")),
        ("torch.from_numpy(np.zeros(3, dtype=np.uint8)).float().to(device)", (False, "bytes, from `np.zeros(...)`")),
        ("x.to(device).float() / 255", None),
        ("x.float().to(device)", None),
        ("x.to(device, torch.float32, non_blocking=True) / 255", None),
        ("(x.float() / 255).byte().to(device)", None),
    ],
)
def test_bytes_that_become_floats(made, expected):
    file = file_of(
        f"def run(data, device):\n    for x in DataLoader(data):\n        y = {made}\n        y.backward()\n"
    )
    found = [w for site in file.hot_calls("to") for w in [widened(file, site)] if w is not None]
    assert [(w.double, w.because) for w in found] == ([expected] if expected else [])


AFTER = "divided by 255 afterwards"


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("torch.tensor(x[:, :4], dtype=torch.float32, device=device).div_(255)", (AFTER, "likely")),
        ("torch.tensor(x[:, :4], device=device, dtype=torch.float32) / 255", (AFTER, "likely")),
        ("torch.as_tensor(np.stack(x), dtype=torch.float32, device=device) / 255.0", (AFTER, "likely")),
        ("torch.tensor(np.asarray(x).astype(np.float32) / 255, device=device)", ("divided by 255", "likely")),
        ("torch.tensor(x, dtype=torch.float32, device=device) / 255", (AFTER, "possible")),  # a list?
        ("torch.as_tensor(x[:, :4], dtype=torch.float32, device=device) / 255", (AFTER, "possible")),
        ("torch.tensor(x[:, :4], dtype=torch.float32, device=device)", None),  # nothing shows bytes
        ("torch.tensor(x[:, :4], dtype=torch.float32, device=device) / 250", None),
        ("torch.tensor(x[:, :4], device=device) / 255", None),  # copied as they are
        ("torch.tensor(x[:, :4], device=device).float() / 255", None),
        ("torch.tensor(x[:, :4], dtype=torch.uint8, device=device).float() / 255", None),
        ("torch.tensor(x[:, :4], dtype=torch.float16, device=device) / 255", None),
        ("torch.tensor(x[:, :4], dtype=torch.float32) / 255", None),  # stays on the host
        ("torch.tensor(x[:, :4], dtype=torch.float32, device='cpu') / 255", None),
        ("torch.tensor(len(x), dtype=torch.float32, device=device) / 255", None),  # one number
    ],
)
def test_bytes_that_a_factory_makes_floats_of(made, expected):
    text = "import torch\nimport numpy as np\ndef run(memory, device, opt):\n"
    text += f"    for i in range(9):\n        x = memory.take(i)\n        y = {made}\n        y.sum().backward()\n"
    file = file_of(text)
    found = [w for site in file.hot_calls("tensor", "as_tensor") for w in [placed(file, site)] if w is not None]
    assert [(w.because, w.confidence.value) for w in found] == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("opt.zero_grad(); y = f(x); opt.zero_grad(); y.backward(); opt.step()", 1),
        ("opt.zero_grad(); f(x).backward(); opt.step(); opt.zero_grad()", 1),
        ("opt.zero_grad(); f(x).backward(); opt.zero_grad(); f(x).backward(); opt.step()", 0),
        ("opt.zero_grad(); other.zero_grad(); f(x).backward(); opt.step()", 0),
    ],
)
def test_gradients_dropped_twice(body, lines):
    lines_of = "".join(f"        {part}\n" for part in body.split("; "))
    file = file_of(f"def run(data, f, opt, other):\n    for x in DataLoader(data):\n{lines_of}")
    assert len(list(zeroed_again(file))) == lines


@pytest.mark.parametrize(
    ("made", "kernels"),
    [
        ("torch.exp(torch.arange(16, device=x.device) * 2.0)", [3]),
        ("torch.tril(torch.ones(x.shape[1], x.shape[1], device=x.device)).bool()", [3]),
        ("torch.exp(torch.arange(16) * 2.0)", []),
        ("torch.exp(torch.rand(16, device=x.device) * 2.0)", []),
        ("torch.exp(x * 2.0 + 1.0)", []),
        ("torch.arange(16, device=x.device)", []),
    ],
)
def test_tables_computed_anew(made, kernels):
    text = f"class M(nn.Module):\n    def forward(self, x: torch.Tensor):\n        t = {made}\n        return x + t\n"
    assert [table.kernels for table in constant_tables(file_of(text))] == kernels


@pytest.mark.parametrize(("moved", "thrown"), [("", False), (".cuda()", True)])
def test_small_networks_of_the_host(moved, thrown):
    text = f"{NET}class Agent:\n        def __init__(self):\n            self.net = Net(){moved}\n"
    text += "            self.optimizer = torch.optim.Adam(self.net.parameters())\n\n"
    text += "        def choose_action(self, state):\n"
    text += "            return self.net(torch.from_numpy(state)).detach().numpy()\n\n"
    text += "        def learn(self, state):\n            self.net(state).sum().backward()\n"
    text += "            self.optimizer.step()\n"
    assert bool(list(thrown_graphs(file_of(text)))) is thrown
