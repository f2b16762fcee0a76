"""What a logger that asks whether it gets tensors is given: what calls spread, and losses by their name."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.reads import item_readings
from torchperf_lint.model import Confidence

LOGGER = """
    class Logger:
        def update(self, **kwargs):
            for k, v in kwargs.items():
                if isinstance(v, torch.Tensor):
                    v = v.item()
                self.meters[k].update(v)

        def show(self, values):
            for v in values.values():
                if isinstance(v, torch.Tensor):
                    print(v.item())

    def train(task, model, loader, optimizer, criterion: nn.Module, logger: Logger):
        for batch in loader:
            loss, {losses} = {made}
            loss.backward()
            optimizer.step()
            {told}
            logger.update(lr=0.1)

    @torch.no_grad()
    def evaluate(task, model, loader, logger: Logger):
        model.eval()
        for batch in loader:
            loss_dict = task.evaluate(model, batch)
            {also}

    def main():
        logger = Logger()
        x = torch.ones(3).to("cuda")
"""


def sure(losses="loss_dict", made="task.step(model, batch)", told="logger.update(**loss_dict)", also="pass"):
    """How sure it is that the logger reads tensors of the device; None where it reads none."""
    files = texts(LOGGER.format(losses=losses, made=made, told=told, also=also))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    return next((reading.read.value.confidence for reading in item_readings(file)), None)


@pytest.mark.parametrize(
    "case",
    [
        {},
        {"losses": "losses", "told": "logger.update(**losses)"},
        {"losses": "loss_dict_reduced", "told": "logger.update(loss=0.0, **loss_dict_reduced)"},
        {"told": "logger.show(loss_dict)"},
        {"losses": "stats", "told": "grad_norm = task.clip(model); logger.update(grad_norm=grad_norm)"},
        {
            "made": "criterion(batch), {'a': criterion(batch), 'b': 2}",
            "losses": "found",
            "told": "logger.update(**found)",
        },
    ],
)
def test_losses_are_tensors(case):
    assert sure(**case) is Confidence.LIKELY


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ({"losses": "stats", "told": "logger.update(**stats)"}, Confidence.POSSIBLE),
        ({"losses": "stats", "told": "logger.show(stats)"}, Confidence.POSSIBLE),
        ({"losses": "stats", "told": "grad_norm = 3.0; logger.update(grad_norm=grad_norm)"}, None),
        ({"losses": "stats", "told": "logger.update(grad_norm=task.clip(model))"}, Confidence.POSSIBLE),
        ({"told": "pass", "also": "logger.update(**loss_dict)"}, Confidence.POSSIBLE),
        ({"made": "1, {k: float(v) for k, v in task.losses(model)}"}, None),
        ({"told": "logger.update(loss=float(loss))"}, None),
    ],
)
def test_what_is_no_loss_of_a_step_says_less(case, expected):
    assert sure(**case) is expected


def test_what_is_spread_to_a_parameter_by_its_name_is_none_of_the_rest():
    files = texts("""
        def log(step, **kwargs):
            for k, v in kwargs.items():
                print(v.item())

        def train(model, loader):
            for batch in loader:
                loss = model(batch.cuda()).mean()
                loss.backward()
                log(**{"step": torch.ones(3), "loss": loss})
    """)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    (reading,) = item_readings(file)
    assert reading.read.value.on_device


HELPER = """
    @recursive
    def to_float(value):
        if isinstance(value, float):
            return value
        if isinstance(value, torch.Tensor):
            return value.item()

    def train(model: nn.Module, loader, optimizer):
        for batch in loader:
            {step}

    def main(model: nn.Module, x):
        return to_float({else_given})
"""


@pytest.mark.parametrize(
    ("given", "expected"),
    [("loss", Confidence.LIKELY), ("0.5", None), ("loss.item()", None)],
)
def test_a_decorated_helper_that_a_step_gives_a_tensor(given, expected):
    step = "\n            ".join(
        ["loss = model(batch.cuda()).sum()", "loss.backward()", "optimizer.step()", f"log(to_float({given}))"]
    )
    files = texts(HELPER.format(step=step, else_given="unknown(x)"))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    told = {ast.unparse(r.operand): r.read.value.confidence for r in item_readings(file)}
    assert told.get("value") is expected


def test_a_helper_that_hands_on_to_itself_what_it_was_given_comes_to_an_end():
    """As torchrl's transform of replayed episodes does, which no rule could check."""
    files = texts("""
        class Replayed:
            def to_float(self, value, others):
                if isinstance(value, torch.Tensor):
                    self.to_float(value, others)
                    return value.item()

            def train(self, model: nn.Module, loader, optimizer):
                for batch in loader:
                    loss = model(batch.cuda()).sum()
                    loss.backward()
                    optimizer.step()
                    log(self.to_float(loss, batch))
    """)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    told = {ast.unparse(r.operand): r.read.value.confidence for r in item_readings(file)}
    assert told == {"value": Confidence.LIKELY}
