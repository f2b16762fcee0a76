"""Loops that accumulate gradients around a DistributedDataParallel model."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.processes.accumulated_gradients import accumulated_gradients

HEAD = "from torch.nn.parallel import DistributedDataParallel as DDP\n"
TRAIN = """\
def train(net: nn.Module, loader: DataLoader, opt, k{default}):
    net = DDP(net.cuda())
    for i, x in enumerate(loader):
        net(x.cuda()).sum().backward()
        {body}
"""


@pytest.mark.parametrize(
    ("body", "default", "waits", "opt_in"),
    [
        ("if (i + 1) % k == 0: opt.step(); opt.zero_grad()", "", "`k`", False),
        ("if (i + 1) % k == 0: opt.step(); opt.zero_grad()", "=1", "`k`", True),
        ("if (i + 1) % k == 0: opt.step(); opt.zero_grad()", "=4", "`k`", False),
        ("if (i + 1) % 1 == 0: opt.step(); opt.zero_grad()", "", None, False),
        ("if k: opt.step(); opt.zero_grad()", "", None, False),
        ("opt.step(); opt.zero_grad()", "", None, False),
        ("if i % k == 0: opt.step()", "", None, False),
    ],
)
def test_what_the_optimizer_waits_for(body, default, waits, opt_in):
    found = _found(HEAD + TRAIN.format(body=body, default=default))
    assert [(a.waits, a.opt_in) for a in found] == ([(waits, opt_in)] if waits else [])


@pytest.mark.parametrize(("default", "opt_in"), [("1", True), ("4", False)])
def test_an_option_that_is_one_by_default(default, opt_in):
    declared = f"parser = ArgumentParser()\nparser.add_argument('--every', default={default})\n"
    step = "if (i + 1) % k.every == 0: opt.step(); opt.zero_grad()"
    options = f"from argparse import ArgumentParser\n{declared}args = parser.parse_args()\n"
    code = HEAD + options + TRAIN.format(body=step, default="")
    found = _found(code.replace("k.every", "args.every"))
    assert [(a.waits, a.opt_in) for a in found] == [("`args.every`", opt_in)]


@pytest.mark.parametrize(
    ("bound", "opt_in"),
    [
        ("every = getattr(k, 'every', 1)", True),
        ("every = k.get('every', 1)", True),
        ("every = k or 1", True),
        ("try: every = k.every\n    except: every = 1", True),
        ("every = getattr(k, 'every', 4)", False),
        ("every = k.every", False),
    ],
)
def test_a_count_that_falls_back_to_one(bound, opt_in):
    code = TRAIN.format(body="if (i + 1) % every == 0: opt.step(); opt.zero_grad()", default="")
    code = code.replace("    net = DDP", f"    {bound}\n    net = DDP")
    assert [a.opt_in for a in _found(HEAD + code)] == [opt_in]


def test_a_file_that_speaks_of_the_exchange_knows_about_it():
    text = HEAD + TRAIN.format(body="if i % k == 0: opt.step(); opt.zero_grad()", default="")
    assert not _found(text + "\ndef other(net):\n    return net.no_sync()\n")


BACKEND = """\
from contextlib import contextmanager

class Backend:
    @contextmanager
    def forward_context(self, model, i, steps):
        {held}
        yield
"""


@pytest.mark.parametrize(
    ("held", "found"), [("model.require_backward_grad_sync = i == steps - 1", 0), ("model.steps = steps", 1)]
)
def test_a_context_that_another_file_makes_puts_it_off(held: str, found: int):
    text = HEAD + TRAIN.format(body="if (i + 1) % k == 0: opt.step(); opt.zero_grad()", default="")
    entered = "        with backend.forward_context(net, i, k):\n            loss = net(x.cuda()).sum()\n"
    text = text.replace("        net(x.cuda()).sum().backward()", entered + "        loss.backward()")
    assert len(_found({"a.py": text, "backend.py": BACKEND.format(held=held)})) == found


def _found(snippet):
    files = texts(snippet)
    return list(accumulated_gradients(SourceFile(Project.of_texts(files), "a.py", files["a.py"])))
