"""Calls of models whose whole output is detached."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.autograd.graph_for_nobody import recorded_for_nobody
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

STEP = """\
def to_numpy(x):
    return x.detach().cpu().numpy()

def shown(x):
    print(x.detach())
    return x

def train(model: nn.Module, teacher: nn.Module, loader, optimizer, criterion):
    for x, y in loader:
{body}
        criterion(model(x), y).backward()
        optimizer.step()
"""
NET = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)

    def forward(self, x):
{forward}

def train(loader, optimizer, criterion):
    net = Net()
    for x, y in loader:
        criterion(x, y).backward()
        optimizer.step()
        out = net(x).data.cpu()
"""


def _found(text: str) -> list[tuple[int, int]]:
    files = texts(text)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    starts = ("def train", "def once", "class ")
    first = 1 + next(n for n, line in enumerate(files["a.py"].splitlines()) if line.startswith(starts))
    return [(found.site.record.line - first, found.end - first) for found in recorded_for_nobody(file)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("z = teacher(x).softmax(-1).detach()", []),
        ("z = teacher(x).cpu().data.numpy()", [(2, 2)]),
        ("z = torch.argmax(teacher(x), 1)", [(2, 2)]),
        ("z = torch.argmax(teacher(x=x), 1)", [(2, 2)]),
        ("z = torch.argmax(teacher(**x), 1)", []),
        ("z = teacher(x)\nz = y + (0.9 * z).detach()", [(2, 3)]),
        ("z, _ = teacher(x)\nprint(z.detach(), z.shape)", [(2, 3)]),
        ("z = teacher(x)\nif y is None:\n    z = z.detach()", [(2, 4)]),
        ("z = teacher(x)\ny = criterion(z.detach(), z)", []),
        ("z = teacher(x)\nkept.append(z)\nz.detach()", []),
        ("z = teacher(x)\nprint(z.argmax(1))\nz.sum().backward()", []),
        ("with torch.no_grad():\n    z = teacher(x).data.cpu()", []),
        ("d = teacher(x)\nz = d.rsample()\nz = z - 0.1 * d.log_prob(z)\nz = z.detach()", [(2, 5)]),
        ("z = teacher(x)\nz = (z.sample() if y else z.mean).detach()", []),
        ("z = teacher(x)\nz = (z.rsample() if y else z.mean).detach()", [(2, 3)]),
        ("z = to_numpy(teacher(x))", [(2, 2)]),
        ("z = shown(teacher(x))", []),
        ("z = criterion(x, y).detach()", []),
        ("z = teacher(x)", []),
        ("print(teacher(x).mean().item())", []),
        ("z = teacher(x)\nprint(z.argmax(1), z[0].item())", [(2, 3)]),
        ("z = teacher(x).register_hook(print).detach()", []),
        ("z = teacher.parameters().detach()", []),
    ],
)
def test_in_a_training_loop(body, expected):
    inner = "\n".join("        " + line for line in body.splitlines())
    assert _found(STEP.format(body=inner)) == expected


@pytest.mark.parametrize(
    "said",
    [
        *(
            "teacher.requires_grad_(False)",
            "w.requires_grad = on",
            "set_requires_grad(teacher, False)",
            "freeze(teacher)",
        ),
        *("torch.set_grad_enabled(on)", "fully_shard(model)"),
    ],
)
def test_where_a_graph_may_not_be_recorded(said):
    assert not _found(STEP.format(body=f"        {said}\n        z = teacher(x).data.cpu()"))


@pytest.mark.parametrize(
    ("forward", "count"),
    [
        ("        return self.body(x)", 1),
        ("        self.penalty = x.sum()\n        return self.body(x)", 0),
        ("        with torch.no_grad():\n            return self.body(x)", 0),
    ],
)
def test_what_the_forward_pass_keeps(forward, count):
    assert len(_found(NET.format(forward=forward))) == count


def test_in_evaluation_what_is_detached_on_the_spot_is_told_here():
    forward = "        return self.body(x)\n\n    def predict_structure(self, x):\n        return self(x=x).detach()\n"
    assert len(_found(NET.format(forward=forward))) == 2


def test_what_runs_once_is_left_alone():
    assert not _found("def once(model: nn.Module, x):\n    return model(x).data.cpu()\n")


def test_a_tensor_made_without_gradients_freezes_nothing():
    assert _found(STEP.format(body="        y = torch.ones(1, requires_grad=False)\n        z = teacher(x).data.cpu()"))


AGENT = """\
class Agent:
    def __init__(self, made):
        self.critic, self.target = make(made), make(made)
        {said}

    def update(self, batches, optimizer, criterion):
        for x, y in batches:
            z = self.target(x)
            loss = criterion(self.critic(x), (y + z).detach())
            loss.backward()
            optimizer.step()
"""


@pytest.mark.parametrize(
    ("said", "lines"),
    [
        ("self.target.load_state_dict(self.critic.state_dict())", 1),
        ("self.parameters = list(self.target.parameters())", 1),
        ("pass", 0),
    ],
)
def test_what_is_asked_for_its_parameters_is_a_module(said, lines):
    assert len(_found(AGENT.format(said=said))) == lines


SCRIPT = """\
model = torch.nn.Linear(8, 8).cuda()
model.load_state_dict(torch.load("model.pt"))
for {loop}:
    out = model(load(name).cuda())
    {measured}
    keep(out.cpu().data[0].numpy())
"""


@pytest.mark.parametrize(
    ("loop", "measured", "expected"),
    [
        ("name in image_list", "pass", 1),
        ("name in sorted(glob.glob(folder))", "pass", 1),
        ("name in image_list", "torch.cuda.synchronize()", 0),
        ("name in image_list", "loss(out).backward()", 0),
        ("name in range(3)", "pass", 0),
    ],
)
def test_a_script_evaluates_its_inputs(loop, measured, expected):
    files = texts(SCRIPT.format(loop=loop, measured=measured), "import glob\nimport torch\n")
    assert len(list(recorded_for_nobody(SourceFile(Project.of_texts(files), "a.py", files["a.py"])))) == expected


EVALUATION = """\
def test(net: nn.Module, loader):
    for x, y in loader:
        out = net(x.cuda())
        {body}
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("print(F.cross_entropy(out, y.cuda()).item())", 1),
        ("print(out.max(1)[1].cpu())", 1),
        ("print(out)", 0),
        ("keep(out, out.mean().item())", 0),
    ],
)
def test_an_evaluation_only_reads(body, expected):
    files = texts(EVALUATION.format(body=body))
    found = list(recorded_for_nobody(SourceFile(Project.of_texts(files), "a.py", files["a.py"])))
    assert len(found) == expected


ACTS = """\
class Walker:
    def __init__(self):
        self.policy = nn.Linear(8, 4).cuda()

    def {name}(self, {given}):
        return self.policy({given}).detach().cpu().numpy()
"""


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [("pick_action", "state", 1), ("pick_action", "names", 0), ("embed", "state", 0)],
)
def test_who_chooses_an_action_does_so_in_each_step(name, given, expected):
    files = texts(ACTS.format(name=name, given=given))
    found = list(recorded_for_nobody(SourceFile(Project.of_texts(files), "a.py", files["a.py"])))
    assert len(found) == expected


STEP_OF_A_TABLE = """\
def loss_of(nets{kind}, x):
    far = {called}(x)
    far = far.detach()
    return (x - far).abs().mean()

def train(net{kind}, loader, optimizer):
    for x in loader:
        loss_of(net, x).backward()
        optimizer.step()
"""


@pytest.mark.parametrize(("kind", "called", "named"), [("", "nets.generator", True), (": nn.Module", "nets", False)])
def test_where_only_a_name_says_that_a_network_is_called(kind, called, named):
    files = texts(STEP_OF_A_TABLE.format(kind=kind, called=called))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert [found.named for found in recorded_for_nobody(file)] == [named]


HELD = """\
class Agent:
    def __init__(self, target_critic, critic):
        self.target_critic, self.critic = target_critic, critic
{more}

    def update(self, loader, optimizer):
        for x in loader:
            target = self.target_critic(x).detach()
            (self.critic(x) - target).mean().backward()
            optimizer.step()
"""


@pytest.mark.parametrize(
    ("more", "named"), [("", True), ("        print(list(self.target_critic.parameters()))", False)]
)
def test_what_is_asked_for_its_parameters_is_known_by_more_than_its_name(more, named):
    files = texts(HELD.format(more=more))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert [found.named for found in recorded_for_nobody(file)] == [named]


LOSS = """
def test(model: nn.Module, loader):
    criterion = nn.CrossEntropyLoss()
    model.eval()
    total = 0.0
    for x, y in loader:
        x, y = x.cuda(), y.cuda()
        {first}
            out = model(x)
        loss = criterion({given}, y)
        total += loss.item()
    return total

def train(model, loader, optimizer):
    for x, y in loader:
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("first", "given", "expected"),
    [
        ("with torch.no_grad():", "out", False),
        ("with torch.no_grad():", "out.float()", False),
        ("with torch.no_grad():", "model(x)", True),
        ("if True:", "out", True),
        ("if True:", "out.detach()", False),
    ],
)
def test_a_loss_of_what_carries_no_graph_records_none(first, given, expected):
    files = texts(LOSS.format(first=first, given=given))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    found = [found.site.record.callee for found in recorded_for_nobody(file)]
    assert ("criterion" in found) is expected


JUDGED = """\
def train(model: nn.Module, loader):
    model.eval()
    judge(model, loader)
    {other}

def judge(model: nn.Module, loader):
    for x in loader:
        scores = model(x).data
        print(scores)
"""


@pytest.mark.parametrize(("other", "told"), [("pass", True), ("with torch.no_grad(): judge(model, loader)", False)])
def test_an_evaluation_that_a_caller_runs_without_gradients_is_left_to_its_callers(other, told):
    assert bool(_found(JUDGED.format(other=other))) is told
