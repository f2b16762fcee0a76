"""The batch that a framework hands to a step is on the device; what only tensors can do shows a part to be one."""

from __future__ import annotations

import pytest
from snippets import value_of

from torchperf_lint.facts.values.value import ANYWHERE, DEVICE, HOST
from torchperf_lint.model import Confidence

TRAINER = """
    from transformers import Trainer

    class Mine({base}):
        def {name}(self, model, {inputs}, return_outputs=False):
            see({expression})
    """
LIGHTNING = """
    from lightning import LightningModule

    class Task(LightningModule):
        def training_step(self, {batch}, index):
            see({expression})
    """


def shown(value):
    return (value.kind, value.device)


def of_trainer(expression, base="Trainer", name="compute_loss", inputs="inputs"):
    code = TRAINER.format(base=base, name=name, inputs=inputs, expression=expression)
    return shown(value_of(code, expression))


def of_lightning(expression, batch="batch"):
    return value_of(LIGHTNING.format(batch=batch, expression=expression), expression)


@pytest.mark.parametrize(
    "inputs", ["inputs", "inputs: dict", "inputs: Dict[str, Union[torch.Tensor, Any]]", "features"]
)
def test_the_inputs_of_a_loss_are_on_the_device(inputs):
    name = inputs.partition(":")[0]
    assert of_trainer(f"{name}['labels']", inputs=inputs) == ("batch", DEVICE)


def test_the_inputs_of_other_losses_may_be_anything():
    assert of_trainer("inputs", base="object") == ("unknown", ANYWHERE)
    assert of_trainer("model") == ("unknown", ANYWHERE)
    assert of_trainer("inputs", inputs="inputs: dict[str, str]") == ("unknown", ANYWHERE)
    assert of_trainer("inputs", name="store") == ("unknown", ANYWHERE)


def test_a_trainer_moves_what_it_prepares():
    moved = "self._prepare_inputs(inputs)"
    assert of_trainer(moved, name="training_step") == ("batch", DEVICE)
    assert of_trainer(moved, name="training_step", base="object") == ("unknown", ANYWHERE)
    own = """
        from transformers import Trainer

        class Mine(Trainer):
            def _prepare_inputs(self, inputs):
                return self.sampled(inputs)

            def training_step(self, model, inputs):
                see(self._prepare_inputs(inputs))
        """
    assert shown(value_of(own, moved)) == ("unknown", ANYWHERE)


@pytest.mark.parametrize("batch", ["data", "batch: dict[str, Any]", "batch: Any"])
def test_the_first_parameter_of_a_lightning_step_is_the_batch(batch):
    name = batch.partition(":")[0]
    assert shown(of_lightning(name, batch)) == ("batch", DEVICE)


def test_nothing_else_of_a_lightning_step_is_the_batch():
    assert of_lightning("index").kind != "batch"
    assert of_lightning("batch", "batch: dict[str, str]").kind != "batch"


@pytest.mark.parametrize(
    "expression",
    [
        "batch['n'].max()",
        "batch['n'].bool()",
        "batch['n'].type(torch.bool)",
        "batch['n'].unsqueeze(1)",
        "batch['n'].squeeze()",
        "batch['n'].view(-1)[0]",
        "batch['n'][:, 1:]",
        "batch.n.sum(1)",
    ],
)
def test_what_only_tensors_can_do(expression):
    assert shown(of_lightning(expression)) == ("tensor", DEVICE)


def test_a_part_beside_a_tensor():
    assert shown(of_lightning("batch['n'] - torch.ones(3)")) == ("tensor", DEVICE)
    assert shown(of_lightning("batch['n'] - 1")) == ("batch", DEVICE)


def test_a_comparison_gives_a_mask_unless_the_entry_is_a_number():
    value = of_lightning("batch['labels'] != -100")
    assert shown(value) == ("tensor", DEVICE)
    assert value.confidence is Confidence.LIKELY


def test_a_part_that_is_used_as_a_tensor_elsewhere_is_one():
    code = """
        from lightning import LightningModule

        class Task(LightningModule):
            def training_step(self, batch, index):
                rows = batch.n.unsqueeze(0)
                more = batch["m"].unsqueeze(0)
                see(batch.n, batch["m"], batch.k)
        """
    assert shown(value_of(code, "batch.n")) == ("tensor", DEVICE)
    assert shown(value_of(code, "batch['m']")) == ("tensor", DEVICE)
    assert shown(value_of(code, "batch.k")) == ("batch", DEVICE)


def test_the_device_of_a_part_is_the_device():
    assert shown(of_lightning("batch['x'].device")) == ("torch_device", DEVICE)


RECORDS = """
    from {library}.modeling import META_ARCH_REGISTRY

    class Detector(nn.Module):
        def forward(self, {given}):
            see([{taken} for record in {given}])
    """


@pytest.mark.parametrize(
    ("library", "given", "taken", "expected"),
    [
        ("detectron2", "batched_inputs", "record['image']", ("batch", HOST)),
        ("detectron2", "batched_inputs", "record['instances']", ("unknown", ANYWHERE)),
        ("detectron2", "samples", "record['image']", ("unknown", ANYWHERE)),
        ("another", "batched_inputs", "record['image']", ("unknown", ANYWHERE)),
    ],
)
def test_the_image_of_a_record_of_detectron2(library, given, taken, expected):
    assert shown(value_of(RECORDS.format(library=library, given=given, taken=taken), taken)) == expected
