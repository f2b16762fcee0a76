"""What a loop keeps from turn to turn together with its graph."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.autograd.kept import detached, is_loss, kept_graphs
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.model import Confidence

STEP = "loss = F.mse_loss(model(x), y)\nloss.backward()"


def kept(snippet):
    files = texts(snippet)
    return kept_graphs(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))


def train(body, before="total = 0.0", after="return total"):
    inside = "\n".join(f"                {line}" for line in body.strip().splitlines())
    return f"""
    from collections import deque

    def train(model: nn.Module, loader, optimizer, flag, seen, epochs):
        for epoch in range(epochs):
            {before}
            for i, (x, y) in enumerate(loader):
{inside}
                optimizer.step()
        {after}
"""


@pytest.mark.parametrize(
    ("body", "before", "confidence"),
    [
        (f"{STEP}\ntotal += loss", "total = 0.0", Confidence.CERTAIN),
        (f"{STEP}\ntotal = total + loss", "total = 0.0", Confidence.CERTAIN),
        (f"{STEP}\ntotal = loss + total", "total = 0.0", Confidence.CERTAIN),
        (f"{STEP}\ntotal -= loss", "total = 0.0", None),
        (f"{STEP}\ntotal += 1", "total = 0.0", None),
        (f"{STEP}\ntotal += loss.item()", "total = 0.0", None),
        (f"{STEP}\ntotal.append(loss)", "total = []", Confidence.CERTAIN),
        (f"{STEP}\ntotal += [loss]", "total = []", Confidence.CERTAIN),
        (f"{STEP}\nseen.append(loss)", "pass", Confidence.CERTAIN),
        (f"{STEP}\ntotal.setdefault('loss', []).append(loss)", "total = {}", Confidence.CERTAIN),
        (f"{STEP}\ntotal['loss'] = total.get('loss', 0) + loss", "total = {}", Confidence.CERTAIN),
        (f"{STEP}\ntotal['loss'] += loss", "total = {'loss': 0}", Confidence.CERTAIN),
        (f"{STEP}\ntotal['loss'] = loss", "total = {}", None),
        (f"{STEP}\ntotal[i] = loss", "total = {}", Confidence.CERTAIN),
        (f"{STEP}\nfor k in ('a', 'b'):\n    total[k] = loss", "total = {}", None),
        (f"total = 0.0\n{STEP}\ntotal += loss", "pass", None),
        (f"total = []\n{STEP}\ntotal.append(loss)", "pass", None),
        (f"{STEP}\ntotal += loss\nif i % 10 == 0:\n    total = 0.0", "total = 0.0", Confidence.POSSIBLE),
        (f"{STEP}\ntotal.append(loss)\nif flag:\n    total.clear()", "total = []", Confidence.POSSIBLE),
        (f"{STEP}\ntotal.append(loss)\nif flag:\n    del total[:]", "total = []", Confidence.POSSIBLE),
        (f"{STEP}\ntotal.append(loss)", "total = deque(maxlen=10)", Confidence.POSSIBLE),
        (f"{STEP}\nwith torch.no_grad():\n    total += loss", "total = 0.0", None),
        (f"{STEP}\nif i % 10 == 0:\n    total += loss", "total = 0.0", None),
        ("loss = F.mse_loss(model(x), y)\ntotal += loss\ntotal.backward()", "total = 0.0", None),
        ("loss = F.mse_loss(model(x), y)\ntotal.append(loss)\nsum(total).backward()", "total = []", None),
        (
            "loss = F.mse_loss(model(x), y)\ntotal.append(loss)\nall_ = torch.stack(total)\nall_.backward()",
            "total = []",
            None,
        ),
    ],
)
def test_sums_and_stores(body, before, confidence):
    found = kept(train(body, before))
    assert [k.graph.confidence for k in found] == ([] if confidence is None else [confidence])


def test_gradients_of_the_sum_after_the_loop():
    assert not kept(train("loss = F.mse_loss(model(x), y)\ntotal += loss", after="total.backward()"))


def test_numpy_reads_no_graphs():
    body = "out = model(x)\nF.mse_loss(out, y).backward()\ntotal.append(out)"
    assert kept(train(body, "total = []"))
    assert not kept(train(body, "total = []", "return torch.cat(total).numpy()"))
    assert kept(train(body, "total = []", "return torch.cat(total).detach().numpy()"))


@pytest.mark.parametrize(
    ("statement", "instead"),
    [
        ("total += loss", "`total += loss.detach()`"),
        ("total += loss * x.size(0)", "`total += (loss * x.size(0)).detach()`"),
        ("total = total + loss", "`total = total + loss.detach()`"),
        ("total.append(loss)", "`total.append(loss.detach())`"),
    ],
)
def test_what_to_write_instead(statement, instead):
    (found,) = kept(train(f"{STEP}\n{statement}", "total = []"))
    assert detached(found) == instead


@pytest.mark.parametrize(
    ("body", "loss"),
    [
        (f"{STEP}\ntotal.append(loss)", True),
        ("out = model(x)\nF.mse_loss(out, y).backward()\ntotal.append(out)", False),
        ("out = model(x)\nF.mse_loss(out, y).backward()\ntotal.append(F.mse_loss(out, y))", True),
        ("out = model(x)\nF.mse_loss(out, y).backward()\ntotal.append(out.softmax(1))", False),
    ],
)
def test_losses_and_outputs(body, loss):
    (found,) = kept(train(body, "total = []"))
    assert is_loss(found) is loss


METER = """
    class Meter:
        def __init__(self):
            self.sum = 0.0
            self.values = []

        def update(self, value, n=1):
            {update}

    def train(model: nn.Module, loader, optimizer):
        meter = Meter()
        for x, y in loader:
            loss = F.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            meter.update({given})
"""


@pytest.mark.parametrize(
    ("update", "given", "adds_up"),
    [
        ("self.sum += value", "loss", True),
        ("self.sum = self.sum + value * n", "loss, 2", True),
        ("self.values.append(value)", "loss", True),
        ("v = value * n; self.sum += v", "loss", True),
        ("self.last = value", "loss", False),
        ("self.all['last'] = value", "loss", False),
        ("self.sum += n", "loss, 2", False),
        ("self.sum += float(value)", "loss", False),
        ("self.sum += value.detach()", "loss", False),
        ("self.sum += value", "loss.item()", False),
    ],
)
def test_meters(update, given, adds_up):
    found = kept(METER.format(update=update, given=given))
    assert bool(found) is adds_up
    assert all(k.meter is not None for k in found)


ATTRIBUTE = """
    class Trainer:
        def __init__(self, model: nn.Module, optimizer):
            self.model = model
            self.optimizer = optimizer
            self.total = 0.0

        def train_step(self, x, y):
            {before}
            loss = F.mse_loss(self.model(x), y)
            {step}
            self.total += loss

        def finish(self):
            {finish}
"""


@pytest.mark.parametrize(
    ("before", "step", "finish", "found"),
    [
        ("pass", "loss.backward()", "return self.total", True),
        ("self.total = 0.0", "loss.backward()", "return self.total", False),
        ("pass", "pass", "self.total.backward()", False),
        ("pass", "self.total.backward()", "pass", False),
    ],
)
def test_attributes(before, step, finish, found):
    assert bool(kept(ATTRIBUTE.format(before=before, step=step, finish=finish))) is found


@pytest.mark.parametrize(("function", "found"), [("evaluate", True), ("train", False)])
def test_without_any_backward_pass_only_evaluation_is_told(function, found):
    snippet = f"""
    def {function}(model: nn.Module, loader, criterion: nn.MSELoss):
        total = 0.0
        for x, y in loader:
            total += criterion(model(x.cuda()), y.cuda())
        return total
    """
    assert bool(kept(snippet)) is found


LEVELS = """
    def train(models, sampler, criterion, steps, {parameters}):
        {before}
        for _ in range(steps):
            x, y = sampler.draw()
            {each}
            for level in {levels}:
                optimizer, net = models[level]
                optimizer.zero_grad()
                out = net(x)
                found.append(out)
                loss = F.mse_loss(out["rgb"], y)
                loss.backward()
                optimizer.step()
"""


@pytest.mark.parametrize(
    ("before", "each", "levels", "parameters", "grows"),
    [
        ("pass", "found = []", "range(models['cascade_level'])", "other", False),
        ("pass", "found = []", "range(2)", "other", False),
        ("pass", "found = []", "('coarse', 'fine')", "other", False),
        ("found = []", "pass", "range(models['cascade_level'])", "other", True),
        ("pass", "found = []", "range(n)", "n", True),
        ("pass", "found = []", "level_loader", "level_loader", True),
    ],
)
def test_a_list_of_a_few_levels_is_made_anew_in_each_step(before, each, levels, parameters, grows):
    text = LEVELS.format(before=before, each=each, levels=levels, parameters=parameters)
    assert bool(kept(text)) is grows


EPOCHS = """
    def train(model, optimizer, criterion, load, epochs, scene, iters_per_net, train_views, n):
        for {epoch} in range(epochs):
            total = 0
            {drawn}
            for v in {turns}:
                x, y = load(v)
                loss = criterion(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss
            print(total)
"""


@pytest.mark.parametrize("epoch", ["epoch", "i"])
@pytest.mark.parametrize(
    ("drawn", "turns"),
    [
        ("pass", "train_views"),
        ("pass", "scene.train_cameras"),
        ("pass", "range(iters_per_net)"),
        ("pass", "range(0, len(train_views), 64)"),
        ("pass", "model_inputs"),
        ("order = torch.randperm(n)", "task_batches"),
        ("train_views = scene.views()", "train_views"),
    ],
)
def test_a_loop_that_draws_its_batches_is_that_of_the_steps_whatever_its_name(epoch, drawn, turns):
    assert kept(EPOCHS.format(epoch=epoch, drawn=drawn, turns=turns))


def test_a_batch_of_an_epoch_is_cut_in_each_step():
    text = EPOCHS.format(epoch="i", drawn="order = torch.randperm(n)", turns="range(0, len(train_views), 8)")
    assert kept(text.replace("load(v)", "load(order[v : v + 8])"))
