"""Plain classes around a model, and loops over the timesteps of a diffusion, which run it in every step."""

from __future__ import annotations

import pytest
from snippets import hot_at

WRAPPER = """
class {name}:
    def __init__(self, model, steps):
        self.{held} = model
        self.steps = steps

    def __call__(self, {given}):
        steps = torch.tensor(self.steps)  # <-
        {run}
"""
LOOP = """
class Diffusion:
    def {name}(self, model, x):
        for t in list(range(self.num_timesteps))[::-1]:
            with torch.no_grad():
                x = self.p_sample(model, x, t)  # <-
        return x

    def p_sample(self, model, x, t):
        return model(x, t)
"""


@pytest.mark.parametrize(
    ("name", "held", "given", "run"),
    [
        ("_WrappedModel", "model", "x, t, **kwargs", "return self.model(x, steps[t], **kwargs)"),
        ("CFGDenoiser", "inner_model", "x, sigma, cond", "return self.inner_model(x, steps[sigma], cond)"),
        ("GuidedUNet", "unet", "x, t", "eps = self.unet(x, t)\n        return eps * 2"),
    ],
)
def test_a_wrapper_runs_with_its_model(name, held, given, run):
    hot = hot_at(WRAPPER.format(name=name, held=held, given=given, run=run))
    assert hot is not None
    assert hot.kind == "forward"


@pytest.mark.parametrize(
    ("name", "held", "given", "run"),
    [
        ("Predictor", "model", "x, t", "return self.model(x, t)"),
        ("WrappedModel", "model", "x", "return self.model(x)"),
        ("WrappedModel", "steps", "x, t", "return self.steps(x, t)"),
        ("WrappedModel", "model", "xs, t", "return [self.model(x, t) for x in xs]"),
    ],
)
def test_others_do_not(name, held, given, run):
    assert hot_at(WRAPPER.format(name=name, held=held, given=given, run=run)) is None


@pytest.mark.parametrize(
    ("name", "hot"), [("p_sample_loop", True), ("calc_bpd_loop", True), ("ddim_reverse_loop", True), ("plot", False)]
)
def test_a_loop_over_timesteps_runs_the_model(name, hot):
    assert (hot_at(LOOP.format(name=name)) is not None) is hot
