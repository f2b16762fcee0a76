"""Loops over slices of a list of inputs, which run a model on each batch."""

from __future__ import annotations

import pytest
from snippets import hot_at

LOOP = """
    def predict(model, items, size):
        out = []
        for i in range({bounds}):
            batch = collate(items[i : i + size]).cuda()
            {run}
            out.append(scores.item())  # <-
        return out
"""


@pytest.mark.parametrize(
    ("bounds", "run", "hot"),
    [
        ("0, len(items), size", "scores = model(batch)", True),
        ("0, len(items), 64", "scores = model(batch, training=False)", True),
        ("0, len(items), size", "scores = batch.mean()", False),
        ("len(items)", "scores = model(batch)", False),
    ],
)
def test_who_cuts_inputs_into_batches_runs_a_model_on_them(bounds, run, hot):
    """Gradients may be on: `model` trains on none of them."""
    found = hot_at(LOOP.format(bounds=bounds, run=run))
    assert (found is not None) == hot
    assert found is None or found.kind == "eval"


CHUNKS = """
    def score(model, rows, size):
        out = []
        for i in range(0, len(rows), size):
            part = rows[i : i + size]{moved}
            scores = model(part)
            out.append(scores.item())  # <-
        return out
"""


@pytest.mark.parametrize(("moved", "hot"), [(".to(device)", True), (".cuda()", True), ("", False)])
def test_chunks_that_nothing_moves_may_be_of_a_pass_of_training(moved, hot):
    assert (hot_at(CHUNKS.format(moved=moved)) is not None) == hot


JUDGED = """
    def generate(model, words, hidden):
        {mode}
        out = []
        for i in range(words):
            {run}
            out.append(scores.item())  # <-
        return out
"""


@pytest.mark.parametrize(
    ("mode", "run", "hot"),
    [
        ("model.eval()", "scores = model(hidden)", True),
        ("model.train(); model.eval()", "scores = model(hidden)", True),
        ("model.eval(); model.train()", "scores = model(hidden)", False),
        ("pass", "scores = model(hidden)", False),
        ("hidden.eval()", "scores = model(hidden)", False),
        ("model.eval()", "scores = model(hidden); model.train()", False),
        ("model.eval()", "scores = words(hidden)", False),
        ("model.eval()", "scores = model(hidden); save_image(scores, i)", False),
        ("model.eval(); torch.cuda.synchronize()", "scores = model(hidden)", False),
        ("model.eval()", "samples = model(hidden); scores = samples", False),
    ],
)
def test_a_loop_that_runs_a_model_in_evaluation_mode(mode, run, hot):
    """Gradients are on, which is another mistake."""
    found = hot_at(JUDGED.format(mode=mode, run=run))
    assert (found is not None) == hot
    assert found is None or found.kind == "eval"


def test_samples_that_a_function_saves_are_few():
    code = JUDGED.format(mode="model.eval()", run="scores = model(hidden)")
    assert hot_at(code.replace("generate", "save_all")) is None


@pytest.mark.parametrize(("name", "hot"), [("demo_scenes.py", False), ("demos/scenes.py", False), ("scenes.py", True)])
def test_demonstrations_show_a_few_results(name, hot):
    code = JUDGED.format(mode="model.eval()", run="scores = model(hidden)")
    assert (hot_at({name: code}) is not None) is hot


EPOCHS = """
    net = nn.Linear(8, 8).cuda()
    criterion = nn.MSELoss()
    for epoch in range(99):
        if epoch % every == 0:
            with torch.no_grad():
                for i in range(files):
                    out = net(read(i))
                    {outside}
                    while out.shape[0] < length:
                        out = net(out)
                        {inside}
                    {then}
"""


@pytest.mark.parametrize("then", ["loss = criterion(out, y)", "loss = F.cross_entropy(out, y)", "self.criterion(out)"])
@pytest.mark.parametrize("marked", ["outside", "inside"])
def test_a_loss_without_gradients_judges_so_each_turn_counts_whatever_the_interval_around(then, marked):
    """Of samples that are made for people now and then nothing runs often."""
    code = {"outside": "pass", "inside": "pass", marked: "out[0] = 0  # <-"}
    assert hot_at(EPOCHS.format(then=then, **code)) is not None
    assert hot_at(EPOCHS.format(then="show(out)", **code)) is None


@pytest.mark.parametrize(
    ("turn", "when"),
    [
        ("for t in range(max_len)", "decoding loop"),
        ("for restart in range(n_restarts)", "loop that runs the model"),
        ("for t in range(max_episode_len)", "loop that runs the model"),
    ],
)
def test_restarts_and_episodes_write_no_text(turn, when):
    code = f"""
    @torch.no_grad()
    def run(model: nn.Module, x, n_restarts, max_len, max_episode_len):
        {turn}:
            x = model.get_logits(x)  # <-
        return x
    """
    found = hot_at(code)
    assert found is not None and when in found.when


@pytest.mark.parametrize(
    ("name", "then", "when"),
    [
        ("attack_batch", "x = x + x.grad.sign()", "every turn of a loop that takes gradients"),
        ("attack_batch", "optimizer.step()", "every training step"),
        ("fit", "x = x + x.grad.sign()", "every training step"),
    ],
)
def test_an_attack_takes_no_training_steps(name, then, when):
    code = f"""
    def {name}(model: nn.Module, x, y, n, optimizer):
        for i in range(n):
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            {then}  # <-
        return x
    """
    found = hot_at(code)
    assert found is not None and found.when.startswith(when)
