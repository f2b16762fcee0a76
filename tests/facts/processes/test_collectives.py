"""Collectives of a training step, and who needs them."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.processes.collectives import needless_collectives

TRAIN = """\
import torch.distributed as dist

def train(net: nn.Module, loader: DataLoader, opt):
    for step, x in enumerate(loader):
        loss = net(x.cuda()).sum()
        {before}
        loss.backward()
        opt.step()
        {after}
"""


@pytest.mark.parametrize(
    ("before", "after", "about"),
    [
        ("pass", "dist.all_reduce(loss)", ["loss"]),
        ("pass", "shown = loss.detach(); dist.all_reduce(shown)", ["shown"]),
        ("pass", "shown = loss; dist.all_reduce(shown)", ["shown"]),
        ("part = x.sum(); loss = loss + part", "kept = part; dist.all_reduce(kept)", ["kept"]),
        ("part = x.sum(); loss = loss + part", "kept = part > 0; dist.all_reduce(kept)", []),
        ("pass", "norm = clip_grad_norm_(net.parameters(), 1.0); dist.all_reduce(norm)", ["norm"]),
        ("pass", "n = clip_grad_norm_(net.parameters(), 1.0); dist.all_reduce(n)\n        if n < 9: opt.step()", []),
        ("pass", "norm = self.loss_scaler(loss, opt, clip_grad=1.0); dist.all_reduce(norm)", ["norm"]),
        ("pass", "norm = self.scaler(loss, opt, clip_grad=1.0); dist.all_reduce(norm)", []),
        ("pass", "shown = loss; dist.all_reduce(shown)", ["shown"]),
        ("part = x.sum(); loss = loss + 0 * part", "shown = part; dist.all_reduce(shown)", ["shown"]),
        ("part = x.sum(); loss = loss / part", "shown = part; dist.all_reduce(shown)", []),
        ("pass", "dist.barrier()", [""]),
        ("pass", "if step % 9 == 0: dist.barrier()", []),
        ("pass", "dist.all_reduce(x)", []),
        ("pass", "dist.all_reduce(loss)\n        if loss > 3: break", []),
        ("pass", "dist.all_reduce(loss)\n        n = loss.item()\n        if n > 3: break", []),
        ("pass", "dist.all_reduce(loss)\n        n = loss.item()\n        if isnan(n): raise ValueError(n)", ["loss"]),
        ("dist.all_reduce(loss)", "pass", []),
        ("n = x.sum(); dist.all_reduce(n); loss = loss / n", "pass", []),
        ("pass", "open('a').write('b'); dist.barrier()", []),
        ("pass", "dist.barrier()\n        if rank == 0:\n            if step % 9 == 0: open('a').write('b')", [""]),
        ("pass", "dist.barrier()\n        if rank == 0: open('a').write('b')", []),
        ("pass", "dist.barrier()\n        if rank == 0 and divisible_by(step, every): open('a').write('b')", [""]),
        ("pass", "if divisible_by(step, every):\n            dist.barrier()\n            open('a').write('b')", []),
        ("pass", "if step % 9 == 0:\n            dist.barrier(); open('a').write('b')", []),
    ],
)
def test_what_nothing_but_a_display_needs(before, after, about):
    files = texts(TRAIN.format(before=before, after=after))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert [found.about for found in needless_collectives(file)] == about


@pytest.mark.parametrize(
    ("imported", "hook", "barrier", "found"),
    [
        ("from composer.utils import dist", "before_train_batch", "dist.barrier()", True),
        ("import torch.distributed as dist", "batch_end", "dist.barrier()", True),
        ("from composer.utils import dist", "batch_end", "if state.step % 9 == 0: dist.barrier()", False),
        ("from composer.utils import dist", "epoch_end", "dist.barrier()", False),
        ("from elsewhere import dist", "batch_end", "dist.barrier()", False),
    ],
)
def test_a_barrier_in_a_hook_of_every_batch(imported, hook, barrier, found):
    code = (
        f"{imported}\nfrom composer import Callback\n\nclass Watch(Callback):\n    def {hook}(self, state, logger):\n"
    )
    files = texts(code + f"        {barrier}\n")
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert bool(list(needless_collectives(file))) is found


HELPER = """\
def reduce_tensor(value):
    {body}
    return value

"""


@pytest.mark.parametrize(
    ("body", "after", "about"),
    [
        ("dist.all_reduce(value)", "shown = reduce_tensor(loss)", ["loss"]),
        ("dist.all_reduce(tensor=value)", "reduce_tensor(loss)", ["loss"]),
        ("dist.all_reduce(op=value)", "reduce_tensor(loss)", []),
        ("dist.all_reduce(value)", "shown = reduce_tensor(loss.detach()).item()", ["loss.detach()"]),
        ("dist.all_reduce(value)", "if step % 9 == 0: reduce_tensor(loss)", []),
        ("dist.all_reduce(value)", "if reduce_tensor(loss) > 3: break", []),
        ("dist.all_reduce(value)", "shown = reduce_tensor(x)", []),
        ("value.backward(); dist.all_reduce(value)", "reduce_tensor(loss)", ["value"]),  # a step itself, told inside
        ("dist.barrier()", "reduce_tensor(loss)", []),
        ("value = value.sum()", "reduce_tensor(loss)", []),
    ],
)
def test_a_helper_that_only_exchanges(body, after, about):
    files = texts(HELPER.format(body=body) + TRAIN.format(before="pass", after=after))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert [found.about for found in needless_collectives(file)] == about


@pytest.mark.parametrize(
    ("after", "about"),
    [
        ("fabric.barrier()", [""]),
        ("self.wait()", [""]),
        ("if step % 9 == 0: fabric.barrier()", []),
        ("shown = fabric.all_reduce(loss.detach())", ["loss.detach()"]),
        ("shown = fabric.all_gather(loss)", ["loss"]),
        ("shown = fabric.all_reduce(x)", []),
        ("fabric.reduce(loss)", []),  # no method of Fabric
        ("fabric.launch()", []),
    ],
)
def test_what_fabric_exchanges_and_waits_for(after, about):
    helper = "class Run:\n    def wait(self):\n        self.fabric.barrier()\n\n"
    train = TRAIN.format(before="pass", after=after).replace("def train(", "def train(self: Run, fabric, ")
    files = texts((helper + train).replace("import torch.distributed as dist", "from lightning import fabric as lf"))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert [found.about for found in needless_collectives(file)] == about


BESIDE = """\
import torch.distributed as dist

def train(net: nn.Module, loader: DataLoader, opt, args):
    for step, x in enumerate(loader):
        {made}
        {backward}
        for v in logs.values():
            dist.reduce(v.div_(2), 0)
        {after}
"""
MADE, BACK = "loss, logs = net(x.cuda())", "loss.backward()"
SHOWN = "if args.rank == 0 and step > 3: print({k: v for k, v in logs.items()})"


@pytest.mark.parametrize(
    ("made", "backward", "after", "about"),
    [
        (MADE, BACK, SHOWN, ["v.div_(2)"]),
        (MADE, BACK, f"if args.rank == 0:\n            logs = dict(logs)\n        {SHOWN}", ["v.div_(2)"]),
        (MADE, BACK, f"scale(logs)\n        {SHOWN}", []),  # somebody needs them in every step
        (MADE, BACK, "if args.rank == 0: pass\n        else: scale(logs)", []),
        (MADE, BACK, "pass", []),  # who reads them is not seen
        ("loss = net(x.cuda()); logs = loss_terms(x)", BACK, SHOWN, []),
        (f"{MADE}; logs = weights(logs)", BACK, SHOWN, []),
    ],
)
def test_what_came_beside_the_loss(made, backward, after, about):
    files = texts(BESIDE.format(made=made, backward=backward, after=after))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert [found.about for found in needless_collectives(file)] == about


def test_a_backward_pass_with_its_loss_by_name():
    text = TRAIN.format(before="pass", after="dist.all_reduce(loss)")
    files = texts(text.replace("loss.backward()", "booster.backward(loss=loss, optimizer=opt)"))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert [found.about for found in needless_collectives(file)] == ["loss"]


def test_a_sum_of_losses():
    text = TRAIN.format(before="pass", after="total += loss.detach(); dist.all_reduce(total)")
    files = texts(text)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert [found.about for found in needless_collectives(file)] == ["total"]


WAITING = """\
def synchronize(kind="", path=""):
    {body}

"""


@pytest.mark.parametrize(
    ("body", "after", "about"),
    [
        ("dist.barrier()", "synchronize()", [""]),
        ("return dist.barrier()", "synchronize()", [""]),
        ("if dist.get_world_size() == 1: return\n    dist.barrier()", "synchronize()", [""]),
        ("n = dist.get_world_size()\n    if n > 1: dist.barrier()", "synchronize()", [""]),
        ("if kind: kind.hvd.allreduce(0, name='barrier')\n    else: kind.dist.barrier()", "synchronize()", [""]),
        ("dist.barrier()", "if step % 9 == 0: synchronize()", []),
        ("dist.barrier()", "open('a').write('b'); synchronize()", []),
        ("open(path).read()\n    dist.barrier()", "synchronize()", []),
        ("if kind: kind.hvd.allreduce(0)\n    else: kind.dist.barrier()", "synchronize()", []),
        ("with open(path): dist.barrier()", "synchronize()", []),
        ("torch.cuda.synchronize()", "synchronize()", []),
        ("pass", "synchronize()", []),
    ],
)
def test_a_helper_that_only_waits(body, after, about):
    files = texts(WAITING.format(body=body) + TRAIN.format(before="pass", after=after))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    found = list(needless_collectives(file))
    assert [each.about for each in found] == about
    assert all(each.inside is not None and each.inside.callee.endswith("dist.barrier") for each in found)


METHOD = """\
from accelerate import Accelerator

class Trainer:
    def __init__(self, net: nn.Module, loader, opt):
        self.accelerator = Accelerator()
        self.net, self.batches, self.opt, self.done = net, iter(loader), opt, 0

    def train_step(self):
        {step}
        self.opt.step()
        {after}

    def train(self):
        while self.done < 10_000:
            self.train_step()
            self.done += 1
"""
BACKWARD = "self.accelerator.backward(self.net(next(self.batches)))"


@pytest.mark.parametrize(
    ("step", "after", "behind_files"),
    [
        (BACKWARD, "self.accelerator.wait_for_everyone()", [False]),
        (
            BACKWARD,
            "self.accelerator.wait_for_everyone()\n        if not self.done % 99: torch.save(self.net, 'net.pt')",
            [True],
        ),
        (BACKWARD, "if not self.done % 99: self.accelerator.wait_for_everyone()", []),
        ("pass", "self.accelerator.wait_for_everyone()", []),
    ],
)
def test_barriers_in_the_method_of_a_step(step, after, behind_files):
    files = texts(METHOD.format(step=step, after=after))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert [found.behind_files for found in needless_collectives(file)] == behind_files


@pytest.mark.parametrize(
    ("after", "about"),
    [
        ("for k, m in meters.items(): log.add_scalar(k, reduce_tensor(len(m.seen)), step)", ["len(m.seen)"]),
        ("n = reduce_tensor(step + 1)\n        if log is not None: log.add_scalar('n', n)", ["step + 1"]),
        ("log.log({'n': reduce_tensor(step + 1)})", ["step + 1"]),
        ("n = reduce_tensor(step + 1); opt.rate = n; log.add_scalar('n', n)", []),
        ("n = reduce_tensor(step + 1)", []),  # who reads it is not seen
        ("keep(reduce_tensor(step + 1))", []),
        ("log.add_scalar('x', reduce_tensor(x))", []),  # what the device has may be a part of the computation
        ("if step % 9 == 0: log.add_scalar('n', reduce_tensor(step + 1))", []),
    ],
)
def test_a_number_of_the_host_that_only_a_log_takes(after, about):
    helper = HELPER.format(body="value = torch.tensor(value).cuda(); dist.all_reduce(value)")
    files = texts(helper + TRAIN.format(before="pass", after=after))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert [found.about for found in needless_collectives(file)] == about


ACCUMULATED = """\
import torch.distributed as dist

def train(net: nn.Module, loader: DataLoader, opt, loss_scaler, accum_iter):
    for i, x in enumerate(loader):
        loss = net(x.cuda()).sum()
        loss.backward()
        update = (i + 1) % accum_iter == 0
        norm = loss_scaler(loss, opt, parameters=net.parameters(), update_grad=update)
        if update:
            {steps}
        if {when}:
            dist.all_reduce(norm)
"""


@pytest.mark.parametrize(
    ("steps", "when", "about"),
    [
        ("opt.zero_grad()", "update", ["norm"]),
        ("opt.step()", "update", ["norm"]),
        ("print(norm)", "update", []),
        ("opt.zero_grad()", "(i + 1) % 100 == 0", []),
    ],
)
def test_what_each_step_of_several_batches_exchanges(steps, when, about):
    files = texts(ACCUMULATED.format(steps=steps, when=when))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert [found.about for found in needless_collectives(file)] == about
