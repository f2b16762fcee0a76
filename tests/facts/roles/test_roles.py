"""Functions that are hot without any loop in sight, by what they are: hooks, meters, engines' functions, schedulers."""

from __future__ import annotations

import pytest
from snippets import hot_at

from torchperf_lint.facts.files.project import Project
from torchperf_lint.model import Confidence


def method(head, signature, decorator=""):
    """A class with one method that holds the marked line."""
    lines = [f"{head}:", f"    {decorator}" if decorator else "", f"    def {signature}:", "        print(self)  # <-"]
    return "\n".join(line for line in lines if line) + "\n"


CALLBACK = "class Callback:\n    pass\n\n\n"
SCHEDULER = """
class DDIMScheduler:
    def set_timesteps(self, n):
        self.timesteps = torch.arange(n)

    def scale_model_input(self, sample, timestep):
        {scale}
        return sample

    def step(self, model_output, timestep, sample):
        {step}
        return self.variance(timestep)

    def variance(self, t):
        {inner}
        return t

    def add_noise(self, x, noise, t):
        {noise}
        return x
"""
CALLABLE = """
import torch


class {base}:
    def __call__(self, x):
        {call}

    def forward(self, x):
        print(x)  # <-
"""
HOOKS = {
    "a hook of fastai": (
        "step",
        "from fastai.callback.core import Callback\n" + method("class A(Callback)", "after_batch(self)"),
    ),
    "of a callback of the project": ("step", CALLBACK + method("class A(Callback)", "before_batch(self)")),
    "of an indirect callback": ("step", CALLBACK + method("class MixCallback(Callback)", "after_loss(self)")),
    "after_pred": ("step", CALLBACK + method("class MixCallback(Callback)", "after_pred(self)")),
    "after_backward": ("step", CALLBACK + method("class MixCallback(Callback)", "after_backward(self)")),
    "training_step_end": ("step", CALLBACK + method("class A(Callback)", "training_step_end(self, outputs)")),
    "validation_step_end": ("eval", CALLBACK + method("class A(Callback)", "validation_step_end(self, outputs)")),
    "on_train_batch_end": ("step", CALLBACK + method("class A(Callback)", "on_train_batch_end(self, trainer)")),
    "a hook of transformers": (
        "step",
        "from transformers import TrainerCallback\n" + method("class A(TrainerCallback)", "on_step_end(self, args)"),
    ),
    "the one batch of a learner": ("step", method("class Learner", "_do_one_batch(self)")),
    "an optimizer of another library's base": (
        "update",
        "from bitsandbytes.optim.optimizer import Optimizer2State\n"
        "class A(Optimizer2State):\n    def step(self):\n        for group in self.param_groups:\n"
        "            print(group)  # <-\n",
    ),
    "HF Trainer.compute_loss": (
        "step",
        "from transformers import Trainer\n" + method("class A(Trainer)", "compute_loss(self, model, inputs)"),
    ),
    "HF Trainer._prepare_inputs": (
        "step",
        "from transformers import Trainer\n" + method("class A(Trainer)", "_prepare_inputs(self, inputs)"),
    ),
    "trl DPOTrainer.get_batch_loss_metrics": (
        "step",
        "from trl import DPOTrainer\n" + method("class A(DPOTrainer)", "get_batch_loss_metrics(self, model, batch)"),
    ),
    "HF Trainer._prepare_inputs that only counts evaluations apart": (
        "step",
        "from transformers import Trainer\n\n\nclass A(Trainer):\n    def _prepare_inputs(self, inputs):\n"
        "        mode = 'train' if self.model.training else 'eval'\n"
        "        print(mode)  # <-\n        return self.score(inputs)\n",
    ),
    "HF Trainer.prediction_step": (
        "eval",
        "from transformers import Trainer\n" + method("class A(Trainer)", "prediction_step(self, model, inputs)"),
    ),
    "a meter's accumulate": ("update", method("class AvgMetric", "accumulate(self, learn)")),
    "catalyst's update": ("update", method("class TopMetric", "update_key_value(self, logits)")),
    "ignite's Metric": (
        "update",
        "from ignite.metrics import Metric\n" + method("class A(Metric)", "update(self, output)"),
    ),
    "torchmetrics' Metric": (
        "update",
        "from torchmetrics import Metric\n" + method("class A(Metric)", "update(self, preds, target)"),
    ),
    "what MONAI leaves to its metrics": (
        "update",
        "from monai.metrics import CumulativeIterationMetric\n"
        + method("class Dice(CumulativeIterationMetric)", "_compute_tensor(self, y)"),
    ),
    "a meter in lower case": ("update", method("class average_meter", "update(self, x)")),
    "what gathers losses": ("update", method("class EpochResult", "update(self, batch, loss, labels, outputs)")),
    "what draws tokens": ("rollout", "import torch\n" + method("class Pipe", "sample_logits(self, logits, top_p=0.9)")),
    "a function that draws": ("rollout", "import torch\ndef top_k(logits, temperature, top_k):\n    print(1)  # <-\n"),
    "ignite's function": ("step", "def work(engine, batch):\n    print(batch)  # <-\n"),
    "ignite's function inside another": (
        "step",
        "def make(model):\n    def _update(engine, batch):\n        print(batch)  # <-\n\n    return _update\n",
    ),
    "ignite's function of an evaluator": (
        "eval",
        "def make(model):\n    def inference(engine, batch):\n        print(batch)  # <-\n\n    return inference\n",
    ),
    "ignite's method": ("step", method("class Trainer", "_iteration(self, engine, batchdata)")),
    "an optimizer by its name": ("update", method("class LionOptimizer", "step(self, closure=None)")),
    "a loss in two dimensions": ("step", "def js_div_loss_2d(x, y):\n    print(x)  # <-\n"),
    "a function that is registered as a loss": (
        "step",
        "@register_policy_loss('vanilla')\ndef clipped_ratio(x, y):\n    print(x)  # <-\n",
    ),
    "a function in a registry of losses": (
        "step",
        "@LOSSES.register('kl')\ndef forward_kl(x, y):\n    print(x)  # <-\n",
    ),
    "a loss of logits": ("step", "def focal_loss_with_logits(x, y):\n    print(x)  # <-\n"),
    "a loss called symmetric": (
        "forward",
        method("class SymmetricLoss(nn.Module)", "forward(self, x)"),
    ),
    "a step through another method": (
        "step",
        """
class Agent:
    def learn(self, batch):
        loss = self.loss(batch)
        self.apply(loss)
        print(loss)  # <-

    def apply(self, loss):
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
""",
    ),
    "an attention processor": (
        "forward",
        method("class AttnProcessor2_0", "__call__(self, attn, hidden_states, encoder_hidden_states=None)"),
    ),
    "the forward of what is called as a module is": (
        "forward",
        CALLABLE.format(base="Matcher", call="return self.forward(x)"),
    ),
    "the forward that a base calls": (
        "forward",
        CALLABLE.format(base="Base", call="return self.forward(x)").replace("  # <-", "")
        + method("class Guidance(Base)", "forward(self, x)"),
    ),
    "a diffusion scheduler's step": (
        "rollout",
        SCHEDULER.format(step="print(sample)  # <-", scale="pass", inner="pass", noise="pass"),
    ),
    "its scaling": (
        "rollout",
        SCHEDULER.format(scale="print(sample)  # <-", step="pass", inner="pass", noise="pass"),
    ),
    "a forward of a class whose base nobody here can read": (
        "forward",
        "import gpytorch\n\n\n"
        + method("class Linear(gpytorch.kernels.Kernel)", "forward(self, x1: torch.Tensor, x2)"),
    ),
    "what a base class of another library calls": (
        "forward",
        "from timm.models.vision_transformer import VisionTransformer\nfrom torch import Tensor, nn\n\n\n"
        "class Scaled(VisionTransformer):\n    def __init__(self):\n        super().__init__()\n"
        "        self.head = nn.Linear(2, 2)\n\n    def forward(self, x):\n        return self.head(x)\n\n"
        "    def _pos_embed(self, x: Tensor) -> Tensor:\n        print(x)  # <-\n        return x\n",
    ),
    "what its step calls": (
        "rollout",
        SCHEDULER.format(inner="print(t)  # <-", step="pass", scale="pass", noise="pass"),
    ),
}

COLD = {
    "a schedule that is no optimizer": (
        "class PolyLR(object):\n    def step(self):\n        for group in self.param_groups:\n"
        "            print(group)  # <-\n"
    ),
    "a processor of text": method("class TextProcessor", "__call__(self, text, hidden_states)"),
    "HF Trainer._prepare_inputs of a trainer that generates for many steps at once": (
        "from transformers import Trainer\n\n\nclass A(Trainer):\n    def _prepare_inputs(self, inputs):\n"
        "        if self.model.training:\n            return self.kept\n"
        "        print(inputs)  # <-\n        return self.generate(inputs)\n"
    ),
    "something else that is called with a layer": method("class Inspector", "__call__(self, attn, hidden_states)"),
    "what a functional metric makes of its state": """
import torch


def _auc_compute(x: torch.Tensor) -> torch.Tensor:
    print(x)  # <-
    return x


def auc(x: torch.Tensor) -> torch.Tensor:
    return _auc_compute(x)
""",
    "a forward of such a class that is given no tensors": "import rules\n\n\n"
    + method("class Chain(rules.Chain)", "forward(self, facts, goal)"),
    "a forward of an abstract class that is given tensors": "import abc\n\n\n"
    + method("class Chain(abc.ABC)", "forward(self, x: torch.Tensor)"),
    "a forward that no call comes to": CALLABLE.format(base="Matcher", call="return self.run(x)"),
    "after_batch of no callback": method("class Loader", "after_batch(self)"),
    "a callback's end of an epoch": CALLBACK + method("class A(Callback)", "after_epoch(self)"),
    "a callback's set-up": CALLBACK + method("class A(Callback)", "before_fit(self)"),
    "update of parameters": method("class ParameterTable", "update(self, x)"),
    "update by a loss alone": method("class Schedule", "update(self, loss)"),
    "a loss of sampled classes": "import torch\ndef sampled(logits, labels):\n    print(1)  # <-\n",
    "update of something asymmetric": method("class Asymmetric", "update(self, x)"),
    "accumulate of something else": method("class Gradients", "accumulate(self, x)"),
    "compute of a metric": method("class AccuracyMetric", "compute(self)"),
    "an engine's function of an epoch": "def work(engine):\n    print(engine)  # <-\n",
    "step of an environment": method("class Env", "step(self, action)"),
    "step of a learning rate's scheduler": method("class WarmupScheduler", "step(self, epoch)"),
    "noise for the start of a pipeline": SCHEDULER.format(
        noise="print(x)  # <-", step="pass", scale="pass", inner="pass"
    ),
    "a run that trains": """
class Trainer:
    def fit(self, loader):
        self.train_step(loader)
        print(loader)  # <-

    def train_step(self, loader):
        for x in loader:
            x.backward()
            self.optimizer.step()
""",
    "a loop over loaders": """
def f(loaders):
    for loader in loaders:
        print(loader.cuda())  # <-
""",
}


@pytest.mark.parametrize(("kind", "code"), HOOKS.values(), ids=HOOKS)
def test_hot_without_a_loop_in_sight(kind, code):
    hot = hot_at(code)
    assert hot is not None
    assert hot.kind == kind
    assert hot.confidence is not Confidence.POSSIBLE


@pytest.mark.parametrize("code", COLD.values(), ids=COLD)
def test_alike_but_not_hot(code):
    assert hot_at(code) is None


def test_a_class_that_gets_its_base_from_a_star_import_is_a_module():
    files = {
        "core/imports.py": "from torch import nn\n",
        "core/all.py": "from .imports import *\n",
        "net.py": "from core.all import *\n\n\nclass Net(nn.Module):\n    def forward(self, x):\n        print(x)\n",
    }
    project = Project.of_texts(files)
    hot = project.hotness.at("net.py", (6, 9))
    assert hot is not None
    assert hot.kind == "forward"


@pytest.mark.parametrize(
    ("head", "signature", "kind"),
    [
        ("class Model(nn.Module)", "prepare_inputs_for_generation(self, input_ids)", "rollout"),
        ("class Ban(transformers.LogitsProcessor)", "__call__(self, input_ids, scores)", "rollout"),
        ("class Ban(object)", "__call__(self, input_ids, scores)", None),
        ("class Ban(object)", "apply(self, logits: Tensor, tokens: Tensor)", "rollout"),
        ("class Ban(object)", "process(self, generated, next_token_logits)", "rollout"),
        ("class Ban(object)", "apply(self, logits, labels)", None),
        ("class Ban(object)", "apply(self, tokens)", None),
    ],
)
def test_what_generate_calls_for_every_token(head, signature, kind):
    hot = hot_at("import transformers\n\n\n" + method(head, signature))
    assert (hot.kind if hot else None) == kind


@pytest.mark.parametrize(
    ("base", "name", "call", "kind"),
    [
        ("nn.Module", "detect", "self(x)", "eval"),
        ("nn.Module", "loss", "self(x)", "step"),
        ("nn.Module", "forward_train", "self(x)", "step"),
        ("nn.Module", "lossless", "self(x)", "eval"),
        ("nn.Module", "detect", "self.forward(x)", "eval"),
        ("nn.Module", "detect", "self.head(x)", None),
        ("nn.Module", "on_fit_start", "self(x)", None),
        ("nn.Module", "export", "self(x)", None),
        ("object", "detect", "self(x)", None),
    ],
)
def test_a_method_that_runs_its_own_module_runs_with_every_input(base, name, call, kind):
    hot = hot_at(f"class Net({base}):\n    def {name}(self, x):\n        return {call}  # <-\n")
    assert (hot.kind if hot else None) == kind


OPERATION = """
def warp(image: torch.Tensor, angle: float) -> torch.Tensor:
    print(image)  # <-
    return image
"""


def test_what_a_library_offers_for_tensors_is_called_in_every_step():
    found = hot_at(OPERATION)
    assert (found.kind, found.confidence) == ("forward", Confidence.LIKELY)
    assert "no call of it is seen in the project" in found.because


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("warp", "save"),
        ("warp", "build_grid"),
        ("image: torch.Tensor", "image"),
        ("angle: float) -> torch.Tensor", "angle: float)"),
        ("return image\n", "return image\n\n\nwarp(load(), 0.5)\n"),
    ],
)
def test_other_functions_of_tensors_are_not_known_to_be_hot(old, new):
    assert hot_at(OPERATION.replace(old, new)) is None


def test_a_method_that_a_base_class_has_too_is_called_by_that():
    code = "class Base:\n    def warp(self, image):\n        return image\n\n\nclass Warp({base}):\n" + "".join(
        f"    {line}\n" for line in OPERATION.replace("warp(", "warp(self, ").strip().splitlines()
    )
    assert hot_at(code.format(base="object")) is not None
    assert hot_at(code.format(base="Base")) is None
    assert hot_at("from elsewhere import Base\n" + code.partition("\n\n\n")[2].format(base="Base")) is None


def test_the_file_of_a_metric_holds_what_is_computed_once_an_evaluation():
    text = "import torch\n" + OPERATION.replace("# <-", "")
    for path, hot in (("a/ops.py", True), ("a/metrics.py", False), ("evaluation/ops.py", False)):
        functions = Project.of_texts({path: text}).hotness.functions
        assert bool(functions) is hot


@pytest.mark.parametrize(
    ("decorator", "hot"),
    [
        ("functools.lru_cache(maxsize=None)", False),
        ("functools.cache", False),
        ("lru_cache_unless_export()", False),
        ("torch.no_grad()", True),
    ],
)
def test_what_a_decorator_keeps_is_computed_once(decorator, hot):
    code = f"""
    class Net(nn.Module):
        def forward(self, x):
            return self.table(x.shape[0])

        @{decorator}
        def table(self, n):
            print(n)  # <-
    """
    assert (hot_at(code) is not None) is hot


METER = """
class IoU:
    def update(self, pred, target):
        print(pred)  # <-

    def {other}(self):
        return self.total
"""


@pytest.mark.parametrize(
    ("other", "hot"), [("compute", True), ("get_scores", True), ("value", True), ("reset", False), ("get_name", False)]
)
def test_a_meter_is_known_by_its_methods(other, hot):
    assert (hot_at(METER.format(other=other)) is not None) is hot


def test_a_mapping_has_update_and_values_and_measures_nothing():
    mapping = METER.format(other="values") + "    def keys(self):\n        return self.names\n"
    assert hot_at(METER.format(other="values")) is not None
    assert hot_at(mapping) is None


def test_a_meter_by_name_may_call_its_update_add():
    assert hot_at(METER.replace("IoU", "ConfusionMeter").replace("update", "add").format(other="reset")) is not None


@pytest.mark.parametrize(
    ("name", "hot"), [("FocalLoss", True), ("ComputeLoss", True), ("SetCriterion", True), ("Lossy", False)]
)
def test_calling_an_object_that_is_a_loss_computes_it(name, hot):
    assert (hot_at(f"class {name}:\n    def __call__(self, x, y):\n        print(x)  # <-\n") is not None) is hot


WHOLE_SETS = """
class BaseMetric(nn.Module):
    def {method}(self, loader):
        return torch.cat([self.net(x) for x in loader])

class KIDMetric(BaseMetric):
    def forward(self, x{given}, y){gives}:
        print(x)  # <-
"""


@pytest.mark.parametrize("annotations", [{"given": "", "gives": ""}, {"given": ": Tensor", "gives": " -> Tensor"}])
def test_a_metric_that_goes_through_loaders_is_asked_once_an_evaluation(annotations):
    source = WHOLE_SETS.format(method="features", **annotations)
    assert hot_at(source) is None
    assert hot_at(source.replace("loader", "images")) is not None


@pytest.mark.parametrize(("names", "hot"), [("engine, logger, event_name", True), ("engine, logger", False)])
def test_handlers_for_loggers_run_at_every_event(names, hot):
    source = f"class WeightsHandler:\n    def __call__(self, {names}):\n        print(engine)  # <-\n"
    assert (hot_at(source) is not None) is hot


@pytest.mark.parametrize(
    ("method", "hot"),
    [
        ("training_losses(self, model, x)", True),
        ("gradient_penalty(self, real, fake)", True),
        ("log_loss(self, x)", False),
        ("get_current_losses(self, name)", False),
        ("estimate_loss(self, split)", False),
        ("loss(self)", False),
    ],
)
def test_a_method_of_any_class_may_be_a_loss(method, hot):
    assert (hot_at(f"class Diffusion:\n    def {method}:\n        print(self)  # <-\n") is not None) is hot


@pytest.mark.parametrize(
    ("base", "method", "hot"),
    [
        ("mmengine.hooks.Hook", "after_train_iter", True),
        ("mmengine.hooks.Hook", "after_train_epoch", False),
        ("composer.core.Callback", "batch_end", True),
        ("composer.core.Callback", "eval_after_forward", True),
        ("composer.core.Callback", "predict_batch_end", True),
        ("composer.core.Callback", "batch_checkpoint", False),
        ("composer.core.Callback", "epoch_end", False),
        ("composer.core.Callback", "eval_end", False),
        ("object", "batch_end", False),
        ("object", "train_batch", True),
    ],
)
def test_hooks_of_runners_and_trainers_run_for_every_batch(base, method, hot):
    source = (
        f"import {base.partition('.')[0]}\nclass Watch({base}):\n    def {method}(self, x):\n        print(x)  # <-\n"
    )
    assert (hot_at(source) is not None) is hot


# -- by the names that libraries use for their own ---------------------------------------------------


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (
            "class LogitsProcessor:\n    pass\n\nclass Ban(LogitsProcessor):\n    def __call__(self, ids, scores):\n"
            "        return scores  # <-",
            "rollout",
        ),
        ("class ByteTracker:\n    def track(self, frame):\n        return frame.boxes  # <-", "eval"),
        (
            "from mylib.criterions import BaseCriterion\n\nclass C(BaseCriterion):\n    def forward(self, model, x):\n"
            "        return model(x)  # <-",
            "forward",
        ),
        (
            "class Head(nn.Module):\n    def loss(self, xs):\n        return multi_apply(self.one, xs)\n\n"
            "    def one(self, x):\n        return x.sum()  # <-",
            "step",
        ),
        (
            "class Assigner:\n    def assign(self, boxes, truth):\n        return self.one(boxes, truth)\n\n"
            "    def one(self, boxes, truth):\n        return torch.ones(3, device=boxes.device)  # <-",
            "forward",
        ),
        (
            "class Task:\n    def decode(self, tokens, audio):\n        for i in range(self.max_len):\n"
            "            logits = self.model(tokens, audio)\n            tokens = self.pick(logits)\n\n"
            "    def pick(self, logits):\n        return logits.argmax(-1)  # <-",
            "rollout",
        ),
    ],
)
def test_hot_by_what_such_code_is_called(code, kind):
    found = hot_at(code)
    assert found is not None
    assert found.kind == kind


@pytest.mark.parametrize(
    "code",
    [
        "class MetricTracker:\n    def step(self, value):\n        self.value = value  # <-",
        "class DataModule(lightning.LightningDataModule):\n    def forward(self, x):\n        return x  # <-",
        "class Head(nn.Module):\n    def export_all(self, xs):\n        return register(self.one, xs)\n\n"
        "    def one(self, x):\n        return x.sum()  # <-",
        "class PPOTrainer:\n    def update(self, buffer):\n        return self.one(buffer)  # <-\n\n"
        "    def one(self, x):\n        return torch.ones(3, device=x.device)",
        "class Volume:\n    def compute(self, front) -> float:\n        return self.one(front)  # <-\n\n"
        "    def one(self, x):\n        return torch.ones(3, device=x.device)",
    ],
)
def test_not_hot_by_such_names(code):
    assert hot_at(code) is None


def test_a_metric_of_monai_scores_each_batch():
    code = """
from monai.metrics import CumulativeIterationMetric

class Score(CumulativeIterationMetric):
    def _compute_tensor(self, y_pred, y):
        return torch.sum(y)  # <-
"""
    found = hot_at(code)
    assert found is not None
    assert found.kind == "update"


AVERAGE = """
class {name}:
    def __init__(self, model):
        self.shadow = [p.clone() for p in model.{of}()]

    def {method}(self, model):
        print(model)  # <-
"""


@pytest.mark.parametrize(
    ("name", "of", "method", "hot"),
    [
        ("ModelEMA", "parameters", "update", True),
        ("EMAPytree", "named_parameters", "update", True),
        ("PostHocEMA", "state_dict", "step", True),
        ("ExponentialMovingAverage", "parameters", "update_parameters", True),
        ("EMACodebook", "codes", "step", False),
        ("Schema", "parameters", "step", False),
        ("ModelEMA", "parameters", "apply_shadow", False),
    ],
)
def test_averages_of_a_model(name, of, method, hot):
    found = hot_at(AVERAGE.format(name=name, of=of, method=method))
    assert (found is not None and found.kind == "update") == hot


def test_an_average_that_is_brought_up_to_date_seldom():
    code = AVERAGE.format(name="ModelEMA", of="parameters", method="update")
    code += """
def train(model, optimizer, loader, average):
    average = ModelEMA(model)
    for step, x in enumerate(loader):
        model(x).backward()
        optimizer.step()
        if step % 1000 == 0:
            average.update(model)
"""
    assert hot_at(code) is None


@pytest.mark.parametrize(
    ("name", "method", "because"),
    [("PointTracker3", "show", "is the `forward` of a module"), ("ScoreTracker", "update", "a meter's update")],
)
def test_a_model_that_follows_points_is_no_meter(name, method, because):
    code = (
        f"class {name}(nn.Module):\n    def {method}(self, x):\n        return x\n\n"
        "    def forward(self, x):\n        return x.item()  # <-"
    )
    hot = hot_at(code)
    assert hot is not None
    assert because in hot.because


@pytest.mark.parametrize(("name", "hot"), [("get_train_loss_dict", True), ("get_eval_loss_dict", False)])
def test_losses_of_an_evaluation_are_none_of_a_step(name, hot):
    code = f"class Pipeline(nn.Module):\n    def {name}(self, step):\n        return step.item()  # <-"
    assert (hot_at(code) is not None) is hot


PHASE = """
class Phase(nn.Module):
    def forward(self, loader):
        {before}
        for x, y in loader:
            loss = self.model(x, y)
            {step}
"""


@pytest.mark.parametrize(
    ("step", "hot"),
    [
        ("self.accelerator.backward(loss); self.optimizer.step()", False),
        ("self.optimizer.zero_grad(); loss.backward()", False),
        ("self.reward(loss); self.env.step(loss)", True),
        ("loss.backward()", True),  # a gradient asked for within a pass
    ],
)
def test_a_trainer_that_is_called_as_a_module_is_no_pass(step, hot):
    assert (hot_at(PHASE.format(before="self.epoch.item()  # <-", step=step)) is not None) == hot
