"""What somebody else calls in every step: metrics and losses that are called, averages of weights, agents, hooks."""

from __future__ import annotations

import pytest
from snippets import hot_at

METRIC = """
class Metric:
    pass


class Score:
    pass


class TopK({base}):
    def __call__(self, scores, truth):
        self.hits += 1  # <-

    def {other}(self):
        return self.hits
"""


@pytest.mark.parametrize(
    ("base", "other", "hot"),
    [
        ("Metric", "reset", True),
        ("Metric", "get_metric", True),
        ("Metric", "describe", False),
        ("Score", "reset", False),
    ],
)
def test_a_metric_that_is_reset_is_called_with_each_batch(base, other, hot):
    found = hot_at(METRIC.format(base=base, other=other))
    assert (found is not None and found.kind == "update") is hot


def test_a_metric_that_goes_through_loaders_is_called_once():
    source = METRIC.format(base="Metric", other="reset").replace("scores, truth", "model, loader")
    assert hot_at(source) is None


@pytest.mark.parametrize(
    ("base", "methods", "hot"),
    [
        ("nn.Module", "", True),
        ("nn.Module", "    def forward(self, x):\n        return x\n", False),
        ("object", "", False),
    ],
)
def test_calling_a_module_without_a_forward_is_its_pass(base, methods, hot):
    source = f"class Spectrogram({base}):\n{methods}    def __call__(self, wave):\n        print(wave)  # <-\n"
    assert (hot_at(source + "\n\nspectrogram = Spectrogram()\n") is not None) is hot
    assert hot_at(source) is None


def test_a_call_that_wraps_the_one_of_a_base_says_nothing_of_what_it_adds():
    source = "class Images(nn.Sequential):\n    def __call__(self, x, kind='pt'):\n        x = {call}\n"
    source += "        print(x)  # <-\n\n\nimages = Images()\n"
    assert hot_at(source.format(call="super().__call__(x)")) is None
    assert hot_at(source.format(call="self.pass_on(x)")) is not None


def test_a_module_that_is_called_with_a_name_makes_something():
    assert (
        hot_at("class Maker(nn.Module):\n    def __call__(self, task, size):\n        print(task)  # <-\n\nMaker()\n")
        is None
    )


@pytest.mark.parametrize(
    ("name", "hot"), [("ICaRLLossPlugin", True), ("PPPloss", True), ("LossCalculator", True), ("Glossary", False)]
)
def test_calling_an_object_that_is_a_loss_computes_it(name, hot):
    assert (hot_at(f"class {name}:\n    def __call__(self, x, y):\n        print(x)  # <-\n") is not None) is hot


def test_a_regression_metric_of_monai_scores_each_batch():
    code = """
        from monai.metrics import RegressionMetric

        class Similarity(RegressionMetric):
            def _compute_metric(self, y_pred, y):
                return torch.tensor(self.weights, device=y_pred.device)  # <-
    """
    assert hot_at(code) is not None
    assert hot_at(code.replace("_compute_metric", "_check_metric")) is None


@pytest.mark.parametrize(
    ("head", "method", "hot"),
    [
        ("class EMA(nn.Module)", "update(self)", True),
        ("class ModelEma", "step(self, model)", True),
        ("class KarrasEMA", "update_moving_average(self, model)", True),
        ("class AveragedModel(nn.Module)", "update_parameters(self, model)", True),
        ("class MomentumEMA(AveragedModel)", "avg_func(self, a, b, steps)", True),
        ("class EMA(nn.Module)", "copy_to(self, model)", False),
        ("class EMAScheduler", "step(self)", False),
        ("class Schema", "update(self, x)", False),
        ("class EMACallback", "update(self, x)", False),
    ],
)
def test_averages_of_weights_are_updated_after_every_step(head, method, hot):
    keeps = "    def begin(self, model):\n        self.kept = [w.clone() for w in model.parameters()]\n\n"
    found = hot_at(f"{head}:\n{keeps}    def {method}:\n        print(self)  # <-\n")
    assert (found is not None and found.kind == "update") is hot


@pytest.mark.parametrize(
    ("head", "method", "hot"),
    [
        ("class TD3(Agent)", "act(self, states)", True),
        ("class DQNAgent", "select_action(self, state)", True),
        ("class CEM(lib.agents.BaseAgent)", "record_transition(self, states)", True),
        ("class TD3(Agent)", "act(self)", False),
        ("class TD3(Agent)", "load(self, path)", False),
        ("class Player", "act(self, states)", False),
    ],
)
def test_agents_act_in_each_step_of_their_environment(head, method, hot):
    found = hot_at(f"{head}:\n    def {method}:\n        print(self)  # <-\n")
    assert (found is not None and found.kind == "rollout") is hot


@pytest.mark.parametrize(
    ("head", "method", "hot"),
    [
        ("class Thermostat(SimulationHook)", "on_step_begin(self, simulator)", True),
        ("class SimulationHook", "on_step_begin(self, simulator)", False),
        ("class Thermostat(SimulationHook)", "on_simulation_start(self, simulator)", False),
        ("class NCMPlugin(TrainerPlugin)", "after_training_batch(self)", True),
    ],
)
def test_hooks_of_the_projects_own_runners(head, method, hot):
    assert (hot_at(f"{head}:\n    def {method}:\n        print(self)  # <-\n") is not None) is hot


def test_a_callback_may_have_its_base_from_a_star_import():
    source = "from fastai.all import *\n\nclass MVP({base}):\n    def before_batch(self):\n        print(self)  # <-\n"
    assert hot_at(source.format(base="Callback")) is not None
    assert hot_at(source.format(base="Learner")) is None


@pytest.mark.parametrize(
    ("signature", "hot"),
    [
        ("cond_fn(x, t, y=None)", True),
        ("classifier_cond_fn(x, t, classifier, y)", True),
        ("score_fn(x_t, sigma)", True),
        ("cond_fn(model, x)", False),
        ("build_fn(x, t)", False),
        ("cond_fn(x)", False),
    ],
)
def test_samplers_call_what_guides_them_in_every_step(signature, hot):
    found = hot_at(f"def {signature}:\n    print(1)  # <-\n")
    assert (found is not None and found.kind == "rollout") is hot


@pytest.mark.parametrize(
    ("head", "hot"),
    [
        ("from fastai.all import *\n\nclass Wrapper(Module)", True),
        ("from fastai.all import *\n\nclass Wrapper(Learner)", False),
        ("class Wrapper(Module)", False),
    ],
)
def test_a_module_may_have_its_base_from_a_star_import(head, hot):
    found = hot_at(f"{head}:\n    def forward(self, x):\n        print(x)  # <-\n")
    assert (found is not None) is hot
