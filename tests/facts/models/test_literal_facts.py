"""Convolutions before a normalisation, compiled steps, and the devices of Lightning's trainers."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.models.before_batch_norm import biased
from torchperf_lint.facts.optimizers.compiled_steps import compiled_steps
from torchperf_lint.facts.processes.lightning_devices import several_devices


def file_of(text):
    files = texts(text)
    return SourceFile(Project.of_texts(files), "a.py", files["a.py"])


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        ("nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8))", 1),
        ("[nn.Conv2d(3, 8, 3, bias=True), nn.SyncBatchNorm(8)]", 1),
        ("[('conv', nn.Conv1d(3, 8, 3)), ('norm', nn.BatchNorm1d(8))]", 1),
        ("[nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8)]", 0),
        ("[nn.Conv2d(3, 8, 3, bias=flag), nn.BatchNorm2d(8)]", 0),
        ("[nn.Conv2d(3, 8, 3, 1, 1, 1, 1, False), nn.BatchNorm2d(8)]", 0),
        ("[nn.Conv2d(3, 8, 3), nn.ReLU(), nn.BatchNorm2d(8)]", 0),
        ("(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8))", 0),
        ("nn.BatchNorm2d(8)(nn.Conv2d(3, 8, 3)(x))", 0),
    ],
)
def test_biases(layers, expected):
    assert len(list(biased(file_of(f"def make(x, flag):\n    return {layers}\n")))) == expected


@pytest.mark.parametrize(
    ("rate", "scheduler", "expected"),
    [
        ("lr=1e-3", "torch.optim.lr_scheduler.StepLR(opt, 10)", 1),
        ("lr=args.lr", "torch.optim.lr_scheduler.StepLR(optimizer=opt, step_size=10)", 1),
        ("lr=torch.tensor(1e-3)", "torch.optim.lr_scheduler.StepLR(opt, 10)", 0),
        ("lr=1e-3", "torch.optim.lr_scheduler.StepLR(other, 10)", 0),
        ("**args", "torch.optim.lr_scheduler.StepLR(opt, 10)", 0),
        ("lr=1e-3", "None", 0),
    ],
)
def test_compiled_steps(rate, scheduler, expected):
    text = f"""
    def main(model, args, other):
        opt = torch.optim.Adam(model.parameters(), {rate})
        scheduler = {scheduler}
        return torch.compile(opt.step), scheduler
    """
    assert len(list(compiled_steps(file_of(text)))) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("devices=4", True),
        ("devices=-1", True),
        ("devices=[0, 1]", True),
        ("gpus=2", True),
        ("strategy='ddp'", True),
        ("devices=1, num_nodes=2", False),
        ("devices=[1]", False),
        ("devices=1", False),
        ("devices='auto'", None),
        ("devices=args.devices", None),
        ("max_epochs=2", None),
    ],
)
def test_devices(given, expected):
    text = f"import lightning as L\n\ndef main(args):\n    return L.Trainer({given})\n"
    assert several_devices(Project.of_texts(texts(text))) is expected


def test_one_trainer_with_several_devices_is_enough():
    text = "import lightning as L\nL.Trainer(devices=1)\nL.Trainer(devices=2)\nL.Trainer()\n"
    assert several_devices(Project.of_texts(texts(text))) is True
