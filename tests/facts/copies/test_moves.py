"""Moves that a loop repeats, tensors that stay behind, and copies that nobody waits for."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest
from calls_in import site_of
from snippets import texts

from torchperf_lint.facts.copies.left_behind import left_behind
from torchperf_lint.facts.copies.moves import repeated_move
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.loaders.asynchronous import pageable_source, pinned_and_moved
from torchperf_lint.facts.models.snapshots import snapshot_at
from torchperf_lint.facts.reads.unfinished import unfinished_reads


def in_step(before, inside, call):
    """A call in a training loop."""
    text = f"def train(model: nn.Module, loader, optimizer, a, device):\n{indent(dedent(before), ' ' * 4)}\n"
    text += f"    for step, (x, y) in enumerate(loader):\n{indent(dedent(inside), ' ' * 8)}\n"
    text += "        loss = model(x.to(device, non_blocking=True)).mean()\n        loss.backward()\n"
    return site_of(text + "        optimizer.step()\n", call)


MODULE = """
class M(nn.Module):
    def __init__(self, size, given, device):
        super().__init__()
        self.host = torch.arange(size)
        self.listed = torch.tensor([0.5, 1.0]).view(1, 2)
        self.either = None if given is None else torch.zeros(size)
        self.there = torch.arange(size, device=device)
        self.given = given
        self.weight = nn.Parameter(torch.ones(size))
        self.register_buffer("buffer", torch.ones(size))
        self.kept = torch.arange(size)
        self.set_outside = torch.arange(size)

    def forward(self, x: torch.Tensor, i):
        self.kept = self.kept.to(x.device)
        return {call}

def move(m):
    m.set_outside = m.set_outside.cuda()
"""


@pytest.mark.parametrize(
    ("receiver", "stays"),
    [
        ("self.host", True),
        ("self.host[i]", True),
        ("self.listed.float()", True),
        ("self.either", True),
        ("self.there", False),
        ("self.given", False),
        ("self.weight", False),
        ("self.buffer", False),
        ("self.kept", False),
        ("self.set_outside", False),
        ("self.unknown", False),
        ("x", False),
    ],
)
def test_what_stays_on_the_host(receiver, stays):
    call = f"{receiver}.to(x.device)"
    site = site_of(MODULE.format(call=call), call)
    held = left_behind(site.file.project.values, site.receiver, site.frame)
    assert (held is not None) is stays
    assert held is None or held.in_module


@pytest.mark.parametrize(
    ("before", "inside", "call", "kind"),
    [
        ("", "model.to(device)", "model.to(device)", "module"),
        ("", "model = model.to(device)", "model.to(device)", "module"),
        ("w = torch.ones(3)", "y * w.to(device)", "w.to(device)", "tensor"),
        ("", "model.to(device)\nmodel.cpu()", "model.to(device)", None),
        ("", "model.to(torch.float16)", "model.to(torch.float16)", None),
        ("", "other = nn.Linear(1, 1)\nother.to(device)", "other.to(device)", None),
        ("", "w = torch.ones(3)\ny * w.to(device)", "w.to(device)", None),
        ("w = torch.ones(3)", "w = w.to(device)", "w.to(device)", None),
        ("w = torch.ones(3)", "w[step] = 0\ny * w.to(device)", "w.to(device)", None),
        ("w = torch.ones(3)", "w.add_(1)\ny * w.to(device)", "w.to(device)", None),
        ("w = torch.ones(3, device=device)", "y * w.to(device)", "w.to(device)", None),
        ("", "a.to(device)", "a.to(device)", None),
    ],
)
def test_what_is_moved_again(before, inside, call, kind):
    found = repeated_move(in_step(before, inside, call))
    assert (found.kind if found is not None else None) == kind


@pytest.mark.parametrize(
    ("before", "call", "pageable"),
    [
        ("", "torch.from_numpy(a).to(device, non_blocking=True)", True),
        ("", "torch.from_numpy(a).cuda(non_blocking=True)", True),
        ("", "torch.tensor(a).to(device, non_blocking=True)", True),
        ("", "torch.from_numpy(a).to(device)", False),
        ("", "torch.from_numpy(a).to(device, non_blocking=False)", False),
        ("", "torch.from_numpy(a).pin_memory().to(device, non_blocking=True)", False),
        ("", "torch.tensor([1.0, 2.0]).to(device, non_blocking=True)", False),  # TPL252's
        ("", "torch.zeros(3).to(device, non_blocking=True)", False),  # TPL251's
        ("w = torch.from_numpy(a)", "w.to(device, non_blocking=True)", False),  # TPL208's
        ("", "x.to(device, non_blocking=True)", False),
    ],
)
def test_what_is_copied_from_pageable_memory(before, call, pageable):
    assert (pageable_source(in_step(before, call, call)) is not None) is pageable


@pytest.mark.parametrize(
    ("before", "inside", "pinned"),
    [
        ("", "x.pin_memory().to(device)", True),
        ("", "p = x.pin_memory()\np.to(device)", True),
        ("", "x.pin_memory().float().cuda()", True),
        ("p = torch.empty(3).pin_memory()", "p.to(device)", False),
        ("", "p = x.pin_memory()", False),
        ("", "x.pin_memory().to(torch.float16)", False),
    ],
)
def test_what_the_step_pins(before, inside, pinned):
    file = in_step(before, inside, "optimizer.step()").file
    assert bool(list(pinned_and_moved(file))) is pinned


@pytest.mark.parametrize(
    ("body", "unfinished"),
    [
        ("y = HERE.numpy()\nreturn y", True),
        ("return HERE.tolist()", True),
        ("return float(HERE)", True),
        ("y = HERE\nreturn y.item()", True),
        ("y = HERE\nif y > 0:\n    return 1", True),
        ("y = HERE\nreturn f'{y}'", True),
        ("y = HERE\ntorch.cuda.synchronize()\nreturn y.item()", False),
        ("y = HERE\nevent.synchronize()\nreturn y.item()", False),
        ("y = HERE\nz = x.cpu()\nreturn y.item()", False),
        ("y = HERE\nreturn y", False),
        ("y = HERE\nreturn y.shape", False),
        ("y = HERE\ny = x.cpu()\nreturn y.item()", False),
        ("if event:\n    y = HERE\nelse:\n    y = x.cpu()\n    return y.item()", False),
        ("return HERE.numpy()", False),  # shares the memory of what was handed in: the caller may wait, and then look
        ("return HERE.detach()", False),
    ],
)
def test_what_is_read_too_early(body, unfinished):
    lines = indent(body.replace("HERE", "x.to('cpu', non_blocking=True)"), " " * 4)
    files = texts(f"def f(x: torch.Tensor, event):\n{lines}\n")
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert bool(list(unfinished_reads(file))) is unfinished


@pytest.mark.parametrize(
    ("inside", "call", "found"),
    [
        ("torch.save(model.state_dict(), a)", "torch.save(model.state_dict(), a)", (False,)),
        ("torch.save(model, a)", "torch.save(model, a)", (False,)),
        ("torch.save({'m': model.state_dict()}, a)", "torch.save({'m': model.state_dict()}, a)", (False,)),
        ("if loss < best:\n    torch.save(model, a)", "torch.save(model, a)", (True,)),
        ("if step % 9 == 0:\n    torch.save(model, a)", "torch.save(model, a)", None),
        ("if step in saves:\n    torch.save(model, a)", "torch.save(model, a)", None),
        ("torch.save(y, a)", "torch.save(y, a)", None),
        ("torch.save({'step': step}, a)", "torch.save({'step': step}, a)", None),
        ("model.state_dict()", "model.state_dict()", None),
        ("model.save_pretrained(a)", "model.save_pretrained(a)", (False,)),
    ],
)
def test_what_is_saved_at_every_step(inside, call, found):
    site = in_step("", inside, call)
    snapshot = snapshot_at(site)
    assert (snapshot and (snapshot.best_only,)) == found


LIBRARY = """
from vision import make_affine

class M(nn.Module):
    def __init__(self, given):
        super().__init__()
        self.made = make_affine(True).eval()
        self.given = given
        self.chosen = given

    def choose(self, other):
        self.chosen = other

    def forward(self, x: torch.Tensor):
        self.made = self.made.to(x.device)
        self.given.to(x.device)
        self.chosen.to(x.device)
        return self.made({given}) + self.chosen(x)
"""


@pytest.mark.parametrize(
    ("given", "call", "kind"),
    [
        ("self.given(x)", "self.made.to(x.device)", "module"),
        ("self.given(x)", "self.given.to(x.device)", "module"),
        ("self.given + x", "self.given.to(x.device)", None),
        ("self.given(x)", "self.chosen.to(x.device)", None),
    ],
)
def test_what_is_moved_and_called_is_a_module(given, call, kind):
    found = repeated_move(site_of(LIBRARY.format(given=given), call))
    assert (found.kind if found is not None else None) == kind


@pytest.mark.parametrize(
    ("use", "moved"),
    [
        ("return x * LOADED.to(x.device)", True),
        ("table = LOADED.to(x.device)\n                return x * table", True),
        ("return self.scale(LOADED.to(x.device))", True),
        ("return LOADED.to(x.device)(x)", False),
        ("return LOADED.to(x.device).eval()(x)", False),
        ("net = LOADED.to(x.device)\n                return net(x)", False),
        ("net = LOADED.to(x.device).eval()\n                return net(x)", False),
        ("self.net = LOADED.to(x.device)\n                return self.net(x)", False),
        ("LOADED.to(x.device)\n                return LOADED(x)", False),
    ],
)
def test_what_is_loaded_at_import_and_called_is_a_model(use: str, moved: bool):
    code = f"""
        LOADED = torch.load("m.pt")

        class Net(nn.Module):
            def forward(self, x: torch.Tensor):
                {use}
    """
    found = repeated_move(site_of(code, "LOADED.to(x.device)"))
    assert (found is not None and found.kind == "constant") is moved
