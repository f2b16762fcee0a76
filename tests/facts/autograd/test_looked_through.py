"""Pretrained networks that a loss looks through, and what says that somebody thought of their gradients."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.autograd.looked_through import looked_through
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

EXTRACTOR = """
import torchvision

class Extractor(nn.Module):
    def __init__(self):
        super().__init__()
        vgg = {made}
        self.layers = nn.Sequential(*list(vgg.features.children())[:18])

    def forward(self, x):
        {forward}
"""
TRAIN = """
from models import Extractor

def train(data, generator):
    extractor = Extractor().cuda().eval()
    {then}
    optimizer = torch.optim.Adam({given}, lr=1e-4)
    for x, y in DataLoader(data):
        fake = generator(x)
        loss = F.l1_loss(extractor(fake), extractor(y).detach())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def found(**files):
    held = texts({f"{name}.py": text for name, text in files.items()})
    project = Project.of_texts(held)
    return [
        (path, one.site.record.callee, one.use.file.path, one.use.record.callee)
        for path, text in held.items()
        for one in looked_through(SourceFile(project, path, text))
    ]


def trained(made="torchvision.models.vgg19(pretrained=True)", forward="return self.layers(x)", **parts):
    said = {"then": "pass", "given": "generator.parameters()"} | parts
    return found(models=EXTRACTOR.format(made=made, forward=forward), train=TRAIN.format(**said))


@pytest.mark.parametrize(
    "made",
    [
        "torchvision.models.vgg19(pretrained=True)",
        "torchvision.models.vgg19(True)",
        "torchvision.models.vgg19(weights='DEFAULT').eval()",
    ],
)
def test_an_extractor_that_nobody_trains(made):
    assert trained(made) == [("models.py", "torchvision.models.vgg19", "train.py", "extractor")]


@pytest.mark.parametrize(
    "parts",
    [
        {"made": "torchvision.models.vgg19(pretrained=False)"},
        {"made": "torchvision.models.vgg19(weights=None)"},
        {"made": "torchvision.models.vgg19(pretrained=True).requires_grad_(False)"},
        {"forward": "return nn.Conv2d(512, 8, 1)(self.layers(x))"},
        {"forward": "return self.layers(x).detach()"},
        {"forward": "with torch.no_grad(): return self.layers(x)"},
        {"given": "[*generator.parameters(), *extractor.parameters()]"},
        {"given": "[p for net in (generator, extractor) for p in net.parameters()]"},
        {"given": "collected(extractor, generator.parameters())"},
        {"given": "make_groups(generator)"},
        {"then": "extractor.requires_grad_(False)"},
        {"then": "freeze(extractor)"},
    ],
)
def test_what_speaks_for_its_gradients(parts):
    assert trained(**parts) == []


def test_an_extractor_whose_values_go_into_no_loss():
    shown = TRAIN.replace("loss = F.l1_loss(extractor(fake), extractor(y).detach())", "print(extractor(fake).mean())")
    shown = shown.replace("optimizer.zero_grad()", "loss = F.l1_loss(fake, y)")
    said = {"then": "pass", "given": "generator.parameters()"}
    made = EXTRACTOR.format(made="torchvision.models.vgg19(pretrained=True)", forward="return self.layers(x)")
    assert found(models=made, train=shown.format(**said)) == []


LOSSES = """
import torchvision
from torch.hub import load_state_dict_from_url

class Vgg(nn.Module):
    def __init__(self):
        super().__init__()
        self.slices = torchvision.models.vgg16(weights="IMAGENET1K_V1").features

    def forward(self, x):
        return self.slices(x)

class Perceptual(nn.Module):
    def __init__(self):
        super().__init__()
        self.vgg = Vgg()

    def features(self, x):
        return self.vgg(x * 2 - 1)

    def forward(self, x, y):
        seen, wanted = self.features(x), self.features(y)
        return F.l1_loss(seen, wanted.detach())

class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        return self.layer(x)

class Identity(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = Backbone()
        self.net.load_state_dict({loaded})
        self.net.{mode}()

    def forward(self, x, y):
        return 1 - (self.net(x) * self.net(y).detach()).sum()
"""
COACH = """
from losses import Identity, Perceptual

class Coach({base}):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.perceptual = Perceptual().to("cuda")
        self.identity = Identity().to("cuda").eval()
        self.optimizer = torch.optim.Adam(self.{owner}parameters(), lr=1e-4)

    def losses(self, made, y):
        loss = self.perceptual(made, y) + self.identity(made, y)
        return loss, float(loss)

    def fit(self, data):
        for x, y in DataLoader(data):
            loss, _ = self.losses(self.net(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
"""
INNER = ("losses.py", "torchvision.models.vgg16", "coach.py", "self.perceptual")
LOADED = ("losses.py", "Backbone", "coach.py", "self.identity")


@pytest.mark.parametrize(
    ("loaded", "mode", "base", "owner", "expected"),
    [
        ("torch.load(path)", "eval", "object", "net.", [INNER, LOADED]),
        ("load_state_dict_from_url(url)", "eval", "object", "net.", [INNER, LOADED]),
        ("torch.load(path)", "train", "object", "net.", [INNER]),
        ("states", "eval", "object", "net.", [INNER]),
        ("torch.load(path)", "eval", "object", "identity.", [INNER]),
        ("torch.load(path)", "eval", "lightning.LightningModule", "net.", [INNER, LOADED]),
        ("torch.load(path)", "eval", "lightning.LightningModule", "", []),
        ("torch.load(path)", "eval", "nn.Module", "net.", []),
    ],
)
def test_losses_that_hold_a_network(loaded, mode, base, owner, expected):
    losses = LOSSES.replace("{loaded}", loaded).replace("{mode}", mode)
    coach = "import lightning\n" + COACH.replace("{base}", base).replace("{owner}", owner)
    assert found(losses=losses, coach=coach) == expected


def test_a_network_without_a_module_around_it():
    text = """
    import torchvision

    def train(data, net):
        vgg = torchvision.models.vgg16(True).features[:9].cuda()
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-4)
        for x, y in DataLoader(data):
            F.l1_loss(vgg(net(x)), y).backward()
            optimizer.step()
    """
    assert found(a=text) == [("a.py", "torchvision.models.vgg16", "a.py", "vgg")]
