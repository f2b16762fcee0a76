"""Loops that update a model tensor by tensor."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.optimizers.parameter_loops import BLEND, CHANGE, COPY, DESCENT, OPTIMIZER, updates

STEP = """\
def train(model: nn.Module, ema: nn.Module, loader, optimizer, criterion, d):
    for x, y in loader:
        criterion(model(x), y).backward()
        optimizer.step()
"""
MOMENTUM = "v.mul_(0.9).add_(p.grad)"
OWN = """\
class Own(torch.optim.Optimizer):
    def step(self, closure=None):
        for group in self.param_groups:
            lr = group["lr"]
"""


def _kinds(text: str) -> list[str]:
    files = texts(text)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    return [update.kind for update in updates(file)]


@pytest.mark.parametrize(
    ("over", "turn", "expected"),
    [
        ("q, p in zip(ema.parameters(), model.parameters())", "q.mul_(d).add_(p, alpha=1 - d)", [BLEND]),
        ("q, p in zip(ema.parameters(), model.parameters())", "q.data = d * q.data + (1 - d) * p.data", [BLEND]),
        ("q, p in zip(ema.parameters(), model.parameters())", "q.lerp_(p, 0.1)", [BLEND]),
        ("q, p in zip(ema.parameters(), model.parameters())", "q.sub_((1 - d) * (q - p))", [BLEND]),
        ("q, p in zip(ema.parameters(), model.parameters())", "q.mul_(0.99).add_(p, alpha=0.01)", [BLEND]),
        ("q, p in zip(ema.parameters(), model.parameters())", "q.data = 0.99 * q.data + 0.01 * p.data", [BLEND]),
        ("q, p in zip(ema.parameters(), model.parameters())", "q.copy_(0.9 * q + 0.1 * p)", [BLEND]),
        ("q, p in zip(ema.parameters(), model.parameters())", "q *= 0.9; q += 0.1 * p", [BLEND]),
        ("p, v in zip(model.parameters(), s)", "v *= 0.9; v += 0.1 * p.grad; p.sub_(v)", []),
        ("p, v in zip(model.parameters(), s)", f"{MOMENTUM}; p.sub_(v, alpha=0.1)", []),
        ("p, v in zip(model.parameters(), s)", f"{MOMENTUM}; p.data.sub_(0.1 * v.data)", []),
        ("p, v in zip(model.parameters(), s)", "v.mul_(0.9).add_(p.grad, alpha=0.1); p.add_(v.sign(), alpha=d)", []),
        ("p, v in zip(model.parameters(), s)", "g = p.grad; v.mul_(0.9).add_(g, alpha=0.1); p.add_(v.sign())", []),
        ("p, v in zip(model.parameters(), s)", "p.mul_(0.99); p.add_(p.grad.sign(), alpha=0.01)", []),
        ("q, p in zip(ema.parameters(), model.parameters())", "q.data.copy_(p.data)", [COPY]),
        ("q, p in zip(ema.parameters(), model.parameters())", "q.copy_(p.detach().float())", [COPY]),
        ("q, p in zip(half_params, params)", "q.grad.data.copy_(p.grad.data)", [COPY]),
        ("(n, q), p in zip(ema.named_parameters(), model.parameters())", "q.data.copy_(p)", [COPY]),
        ("q, p in zip(ema.parameters(), model.parameters())", "q.copy_(p * d)", []),
        ("q, p in zip(ema.parameters(), model.parameters())", "q.copy_(q.detach())", []),
        ("q, p in zip(ema.parameters(), model.parameters())", "q.copy_(p); print(q)", []),
        ("q, p in zip(ema.buffers(), model.buffers())", "q.copy_(p)", []),
        ("p in model.parameters()", "p.data.copy_(d)", []),
        ("p, part in zip(params, _unflatten_dense_tensors(d, params))", "p.data.copy_(part)", []),
        ("p in model.parameters()", "p.grad.mul_(d)", [CHANGE]),
        ("p in model.parameters()", "p.grad *= d", [CHANGE]),
        ("p in model.parameters()", "p.data.clamp_(-d, d)", [CHANGE]),
        ("p in model.parameters()", "p.grad.mul_(d / p.grad.norm())", []),
        ("p in model.parameters()", "p.grad = None", []),
        ("p in model.parameters()", "p.requires_grad_(False)", []),
        ("p in model.layers", "p.grad.mul_(d)", []),
        ("p in model.parameters()", "p.data.add_(p.grad, alpha=-d)", [DESCENT]),
        ("p in model.parameters()", "p.data.add_(-d, p.grad.data)", [DESCENT]),
        ("p in model.parameters()", "p -= d * p.grad", [DESCENT]),
        ("p in model.parameters()", "if p.grad is not None:\n                p.data.sub_(p.grad * d)", [DESCENT]),
        ("p in model.parameters()", "p.data.add_(d)", []),
        ("p in model.parameters()", "p.data -= d * other.grad", []),
        ("p, q in zip(model.parameters(), ema.parameters())", "p.data -= d * q.grad", []),
        ("p in model.parameters()", "p -= d * p.grad\n            show(p)", []),
    ],
)
def test_in_a_training_loop(over, turn, expected):
    assert _kinds(f"{STEP}        for {over}:\n            {turn}\n") == expected


@pytest.mark.parametrize(
    ("made", "over", "expected"),
    [
        ("dict(ema.named_parameters())", "k in a.keys()", [BLEND]),
        ("dict(ema.named_parameters())", "k in a", []),  # not looked for: nothing in the loop's head says parameters
        ("dict(ema.named_buffers())", "k in a.keys()", [BLEND]),
        ("dict(zip('ab', x))", "k in a.keys()", []),
        ("dict(ema.named_children())", "k in a.keys()", []),
    ],
)
def test_over_a_dict_of_parameters(made, over, expected):
    """By their names, of which the other model has the same."""
    loop = f"        for {over}:\n            a[k].data.mul_(d).add_(b[k].data, alpha=1 - d)\n"
    assert _kinds(f"{STEP}        a = {made}\n        b = dict(model.named_parameters())\n{loop}") == expected


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        ("p.mul_(1 - lr).add_(p.grad, alpha=-lr)", [OPTIMIZER]),
        ("p.add_(p.grad, alpha=-lr)", []),
        ("p.mul_(1 - lr).add_(torch.svd(p.grad)[0], alpha=-lr)", []),
        ("p.mul_(1 - lr).add_(p.grad * p.norm(), alpha=-lr)", [OPTIMIZER]),
        ("q = p.norm(); p.mul_(1 - lr).add_(p.grad * torch.where(q > 0, q, torch.ones_like(q)))", [OPTIMIZER]),
        ("q = torch.norm(p); p.mul_(q if q > 0 else 1).add_(p.grad, alpha=-lr)", []),
        ("torch.max(most, p.grad, out=most); p.mul_(1 - lr).add_(most, alpha=-lr)", [OPTIMIZER]),
        ("p.mul_(1 - lr).add_(p.grad / p.grad.max(), alpha=-lr)", []),
        (
            "state = self.state[p]\n                "
            "if len(state) == 0: state['m'] = nn.init.constant_(torch.empty_like(p), 0.1)\n                "
            "m = state['m']; m.mul_(0.9).add_(p.grad, alpha=0.1); p.add_(m, alpha=-lr)",
            [OPTIMIZER],
        ),
        (
            "state = self.state[p]\n                "
            "if lr > 0: state['m'] = nn.init.constant_(torch.empty_like(p), 0.1)\n                "
            "m = state['m']; m.mul_(0.9).add_(p.grad, alpha=0.1); p.add_(m, alpha=-lr)",
            [],
        ),
    ],
)
def test_in_an_optimizer(turn, expected):
    assert _kinds(f'{OWN}            for p in group["params"]:\n                {turn}\n') == expected


LEFT = """\
class Own(torch.optim.Optimizer):
    {decorated}
    def update(p, grad, lr):
        {update}

    def step(self, closure=None):
        for group in self.param_groups:
            for p in filter(lambda p: p.grad is not None, group["params"]):
                self.update(p, p.grad, group["lr"])
"""
SIGN = "p.mul_(1 - lr); p.add_(grad.sign(), alpha=-lr)"


@pytest.mark.parametrize(
    ("decorated", "update", "expected"),
    [
        ("@staticmethod", SIGN, [OPTIMIZER]),
        ("@staticmethod", "p.add_(grad, alpha=-lr)", []),
        ("@staticmethod", f"{SIGN}; p.svd()", []),
        ("@staticmethod", f"{SIGN}; print(p.max().item())", []),
        ("@staticmethod", f"{SIGN}; other.helper(p)", []),
        ("@staticmethod\n    @torch.compile", SIGN, []),
        ("@staticmethod\n    @torch.jit.script", SIGN, []),
    ],
)
def test_an_update_left_to_a_helper(decorated, update, expected):
    assert _kinds(LEFT.format(decorated=decorated, update=update)) == expected


def test_lists_already():
    assert (
        _kinds(f"{STEP}        for p in model.parameters():\n            p.grad.mul_(d)\n# torch._foreach_mul_\n") == []
    )


@pytest.mark.parametrize(
    ("made", "over", "expected"),
    [
        ("params = list(model.parameters())", "params", [CHANGE]),
        ("params = [model.weight, model.bias]", "params", []),
        ("params = (model.weight, *others)", "params", [CHANGE]),
        ("params = flat(model)", "params", []),
        ("params = listed(model)", "params", [CHANGE]),
    ],
)
def test_few_parameters(made, over, expected):
    makers = """\
def flat(model):
    return [parameters_to_vector(model.parameters())]

def listed(model):
    return list(model.parameters())

"""
    text = f"{makers}def train(model: nn.Module, others, loader, optimizer, criterion, d):\n    {made}\n"
    turn = "        criterion(model(x), y).backward()\n        optimizer.step()\n"
    loop = f"        for p in {over}:\n            p.grad.mul_(d)\n"
    assert _kinds(f"{text}    for x, y in loader:\n{turn}{loop}") == expected


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        ("self.centers = nn.Parameter(torch.randn(n, 8))", []),
        ("self.n, self.centers = n, nn.Parameter(torch.randn(n, 8))", []),
        ("self.rate, self.centers = rate * n**-0.5, nn.Parameter(torch.randn(n, 8).to(torch.float32))", []),
        ("self.centers = nn.Parameter(torch.randn(n, 8)); self.reset_parameters()", []),
        ("self.centers = nn.Parameter(torch.randn(n, 8)); self.n = n; self.net = net", [CHANGE]),
        ("self.centers = nn.Parameter(torch.randn(n, 8)); self.nets = [net]", [CHANGE]),
        ("self.centers = nn.Parameter(torch.randn(n, 8)); own = net; self.net = own", [CHANGE]),
        ("self.centers = nn.Parameter(torch.randn(n, 8)); self.add_module('net', net)", [CHANGE]),
        ("self.centers = nn.Parameter(torch.randn(n, 8)); setattr(self, 'net', net)", [CHANGE]),
        ("self.centers = nn.Parameter(torch.randn(n, 8)); self._modules['net'] = net", [CHANGE]),
        ("self.centers = nn.Parameter(torch.randn(n, 8)); self.register_parameter(name, net.weight)", [CHANGE]),
        ("self.centers = nn.Parameter(torch.randn(n, 8)); self.net = nn.Linear(8, n)", [CHANGE]),
        ("self.centers = nn.Parameter(torch.randn(n, 8)); self.net = backbone(n)", [CHANGE]),
        ("self.layers = [nn.Parameter(torch.randn(8, 8)) for _ in range(n)]", [CHANGE]),
        ("self.net = nn.Linear(8, n)", [CHANGE]),
        ("self.n = n", [CHANGE]),
    ],
)
def test_a_module_of_a_parameter_or_two(held, expected):
    body = "".join(f"        {part}\n" for part in held.split("; "))
    start = "    def __init__(self, n, net=None, rate=0.1, name=None):\n        super().__init__()\n"
    loss = f"class Centers(nn.Module):\n{start}{body}\n\n"
    made = STEP.replace("ema: nn.Module", "n").replace("    for x", "    centers = Centers(n)\n    for x")
    assert _kinds(f"{loss}{made}        for p in centers.parameters():\n            p.grad.mul_(d)\n") == expected


HANDED_ON = """\
class Centers(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.centers = nn.Parameter(torch.randn(n, 8))

def made(model, centers, optimizer, weight):
    def _update(engine, batch):
        x, y = batch
        (model(x) - y).sum().backward()
        optimizer.step()
        for p in centers.parameters():
            p.grad.mul_(1.0 / weight)

    return Engine(_update)

def run(model, centers, optimizer, weight):
    return made(model, centers, optimizer, weight)

def prepared(model, centers, optimizer, weight):
    return run(model, centers, optimizer, weight)

def losses(n):
    centers = {made}
    return F.cross_entropy, centers

def main(model, optimizer, n):
    loss, centers = losses(n)
    prepared(model, centers, optimizer, 0.1)
"""


@pytest.mark.parametrize(("made", "expected"), [("Centers(n)", []), ("other(n)", [CHANGE])])
def test_a_module_that_is_handed_on_from_afar(made, expected):
    text = HANDED_ON.replace("{made}", made)
    assert _kinds("from ignite.engine import Engine\n\n" + text) == expected


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("other(x).backward(); other_optimizer.step()", [BLEND]),
        ("other_optimizer.step()", []),
        ("print(x)", []),
    ],
)
def test_a_cadence_that_trains(block, expected):
    body = "".join(f"            {part}\n" for part in block.split("; "))
    average = "for q, p in zip(ema.parameters(), model.parameters()):\n                q.lerp_(p, 0.1)\n"
    loop = STEP.replace("for x, y in loader", "for step, (x, y) in enumerate(loader)")
    assert _kinds(f"{loop}        if step % 2 == 0:\n{body}            {average}") == expected


HELPER = """\
class Average:
    def update(self, name, value):
        {update}

    def reset(self, model):
        self.kept = dict(model.named_parameters())

"""


@pytest.mark.parametrize(
    ("update", "turn", "expected"),
    [
        ("self.kept[name] -= (1.0 - self.d) * (self.kept[name] - value)", "ema.update(name, p.data)", [BLEND]),
        ("self.kept[name] -= (1.0 - self.d) * (self.kept[name] - value)", "ema.update(name, x)", []),
        ("self.kept[name] -= (1.0 - self.d) * (self.kept[name] - value)", "ema.update(p)", []),
        ("self.kept[name] -= (1.0 - self.d) * (self.kept[name] - value)", "print(p); ema.update(name, p.data)", []),
        ("self.kept[name] = value", "ema.update(name, p.data)", []),
        ("print(name)", "ema.update(name, p.data)", []),
    ],
)
def test_a_helper_that_blends(update, turn, expected):
    body = "".join(f"            {part}\n" for part in turn.split("; "))
    loop = f"        for name, p in model.named_parameters():\n{body}"
    step = STEP.replace("ema: nn.Module", "ema")
    assert _kinds(f"{HELPER.format(update=update)}{step}{loop}") == expected


@pytest.mark.parametrize(
    ("given", "optional"),
    [("ema=average", [False]), ("average", [False]), ("ema=None", []), ("", []), ("*rest", [True])],
)
def test_an_option_that_callers_pass(given, optional):
    text = f"""\
def one(model: nn.Module, x, optimizer, ema=None):
    model(x).sum().backward()
    optimizer.step()
    if ema is not None:
        for q, p in zip(ema.parameters(), model.parameters()):
            q.lerp_(p, 0.1)

def train(model: nn.Module, loader, optimizer, average, rest):
    for x in loader:
        one(model, x, optimizer, {given})
"""
    files = texts(text)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert [update.spot.hot.optional for update in updates(file)] == optional


SCRIPT = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--decay", type=float)

def update_average(model: nn.Module, average: nn.Module, d):
    for q, p in zip(average.parameters(), model.parameters()):
        q.data.mul_(d).add_(p.data, alpha=1 - d)
"""


def test_what_a_program_never_calls_no_step_runs():
    assert _kinds(SCRIPT) == []
    assert _kinds(SCRIPT + "\nhooks = [update_average]\n") == [BLEND]
    assert _kinds("\n".join(line for line in SCRIPT.splitlines() if "pars" not in line)) == [BLEND]


@pytest.mark.parametrize(
    ("mix", "expected"),
    [
        ("lambda q, p: d * q + (1.0 - d) * p", [BLEND]),
        ("lambda q, p: p", []),
        ("lambda q, p: q * p", []),
        ("mixed", []),
    ],
)
def test_what_a_caller_gives_blends(mix, expected):
    each = """\
def each(ema: nn.Module, model: nn.Module, mix):
    for q, p in zip(ema.state_dict().values(), model.state_dict().values()):
        p = p.to("cuda")
        q.copy_(mix(q, p))

"""
    assert _kinds(f"{each}{STEP}        each(ema, model, mix={mix})\n") == expected


def test_the_step_of_one_layer():
    step = STEP.replace("model: nn.Module, ", "").replace("    for x", "    model = nn.Linear(4, 1)\n    for x")
    assert _kinds(f"{step}        for p in model.parameters():\n            p.data.add_(p.grad, alpha=-d)\n") == []


ALONE = """\
actor, target = nn.Linear(3, 1), nn.Linear(3, 1)
optimizer = torch.optim.Adam(actor.parameters())
for state in states:
    action = actor(torch.from_numpy(state)).detach().numpy()
    actor(torch.from_numpy(state)).sum().backward()
    optimizer.step()
    for p, q in zip(actor.parameters(), target.parameters()):
        q.data.copy_(0.1 * p.data + 0.9 * q.data)
"""


def test_a_program_that_stays_on_the_host_launches_nothing():
    assert _kinds(ALONE) == []
    assert _kinds(ALONE.replace("nn.Linear(3, 1), ", 'nn.Linear(3, 1).to("cuda"), ')) == [BLEND]
    assert _kinds("\n".join(line for line in ALONE.splitlines() if "numpy()" not in line)) == [BLEND]
