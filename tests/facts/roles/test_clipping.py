"""Functions that clip gradients, and other methods that a training loop elsewhere runs every step."""

from __future__ import annotations

import pytest
from snippets import hot_at

HOT = {
    "a function that clips": """
        def clip(optimizer, limit):
            for group in optimizer.param_groups:
                norm = nn.utils.clip_grad_norm_(group["params"], limit)
                print(norm)  # <-
        """,
    "a method that clips values": """
        class Policy:
            def clip_all(self, parameters):
                torch.nn.utils.clip_grad_value_(parameters, 1.0)
                print(parameters)  # <-
        """,
    "a hook of a plugin": """
        from lib import SupervisedPlugin

        class Replay(SupervisedPlugin):
            def after_backward(self, strategy):
                print(strategy)  # <-
        """,
    "what a metric of MONAI computes of a batch": """
        from monai.metrics import CumulativeIterationMetric

        class DiceMetric(CumulativeIterationMetric):
            def _compute_tensor(self, y_pred, y):
                print(y)  # <-
        """,
    "the losses of a module as a dict": """
        class Poses(nn.Module):
            def get_loss_dict(self, losses):
                print(losses)  # <-
        """,
    "the metrics of a module as a dict": """
        class Poses(nn.Module):
            def get_metrics_dict(self, metrics):
                print(metrics)  # <-
        """,
    "a callback that an optimizer runs for each parameter": """
        def momentum_step(p, lr, grad_avg, **kwargs):
            print(p)  # <-
        """,
    "the rate of one parameter's own": """
        def layer_rate(param, learning_rate, eps=1e-8):
            print(param)  # <-
        """,
    "a step by a size": """
        @torch.no_grad()
        def project_(weight, grad, step_size=0.1):
            print(weight)  # <-
        """,
    "a function that clips in its own way": """
        def clip_grad_value_by_rms(parameters, threshold):
            for p in parameters:
                print(p.grad.norm())  # <-
        """,
    "a function that measures gradients": """
        def get_grad_norm(parameters, norm_type=2):
            for p in parameters:
                print(p.grad.norm(norm_type))  # <-
        """,
    "what measures the gradients of a model": """
        def compute_global_grad_norm(model):
            print(model)  # <-
        """,
    "what feeds a model its batch": """
        class Restoration:
            def feed_data(self, data):
                self.lq = data["lq"].cuda()  # <-

            def optimize_parameters(self, step):
                self.backward_g()
        """,
    "what trains on the batch that a base class takes": """
        class Base:
            def set_input(self, data):
                self.x = data

        class Restoration(Base):
            def optimize_parameters(self):
                self.steps.do()  # <-
        """,
}
COLD = {
    "what makes an optimizer of all parameters": """
        def Lamb(params, lr, mom=0.9):
            print(params)  # <-
        """,
    "what makes the group of one parameter": """
        def make_group(param, lr):
            print(param)  # <-
        """,
    "one parameter, whatever for": """
        def norm_of(p, eps=1e-8):
            print(p)  # <-
        """,
    "what makes a clipper": """
        def clip_grad_factory(name):
            print(name)  # <-
        """,
    "what feeds what is not trained": """
        class Form:
            def set_input(self, data):
                self.x = data  # <-
        """,
    "a function with a loop of its own": """
        def fit(model, data, optimizer):
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            print(model)  # <-
        """,
    "outside the loop that steps": """
        def run_epochs(model, n, optimizer):
            print(model)  # <-
            for i in range(n):
                model(i).backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
        """,
    "a plugin's other methods": """
        from lib import SupervisedPlugin

        class Replay(SupervisedPlugin):
            def after_training_exp(self, strategy):
                print(strategy)  # <-
        """,
    "the metrics of what is no module": """
        class Report:
            def get_metrics_dict(self, metrics):
                print(metrics)  # <-
        """,
}


@pytest.mark.parametrize("snippet", HOT.values(), ids=HOT)
def test_hot(snippet):
    assert hot_at(snippet) is not None


@pytest.mark.parametrize("snippet", COLD.values(), ids=COLD)
def test_cold(snippet):
    assert hot_at(snippet) is None
