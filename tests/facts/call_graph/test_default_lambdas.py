"""Lambdas that are defaults of parameters run where the parameter is called."""

from __future__ import annotations

import pytest
from calls_in import site_of

STEP = """
def make_step(model, optimizer, criterion, {default}):
    def update(engine, batch):
        loss = criterion(model(batch[0]), batch[1])
        loss.backward()
        optimizer.step()
        return {run}
    return update
"""
SHOW = "show=lambda loss: loss.item()"
HANDED_ON = (
    STEP.format(default=SHOW, run="show(loss)")
    + """

def make_trainer(model, optimizer, criterion, show=lambda loss: loss.item() + 0):
    return make_step(model, optimizer, criterion, show)
"""
)
OF_A_MODULE = """
class Head(nn.Module):
    def forward(self, x, scale=lambda loss: loss.item()):
        return x * scale(x)
"""
COLD = """
def report(loss, show=lambda loss: loss.item()):
    return show(loss)
"""
IN_STEP = {
    "called in the function that a factory makes": STEP.format(default=SHOW, run="show(loss)"),
    "by keyword only": STEP.format(default=f"*, {SHOW}", run="show(loss)"),
    "handed on to the factory that calls it": HANDED_ON,
    "of a method": OF_A_MODULE,
}


@pytest.mark.parametrize("snippet", IN_STEP.values(), ids=IN_STEP)
def test_a_default_runs_as_often_as_its_parameter_is_called(snippet):
    found = site_of(snippet, "loss.item()")
    assert found.hot is not None
    assert "whose default this is, is called at line" in found.hot.because


NOT_IN_STEP = {
    "never called": STEP.format(default=SHOW, run="loss.detach()"),
    "called every hundredth step": STEP.format(default=SHOW, run="show(loss) if engine.step % 100 == 0 else None"),
    "of a function that nothing calls": COLD,
}


@pytest.mark.parametrize("snippet", NOT_IN_STEP.values(), ids=NOT_IN_STEP)
def test_a_default_that_no_step_calls_is_cold(snippet):
    assert site_of(snippet, "loss.item()").hot is None


def test_a_parameter_of_a_lambda_hides_what_the_file_calls_so():
    shown = "show=lambda out: out.item()"
    snippet = 'out = "results/"\n' + STEP.format(default=shown, run="show(loss)")
    site = site_of(snippet, "out.item()")
    assert site.file.value(site.call.func.value, site).kind == "unknown"


def test_the_call_is_found_in_the_definition_that_it_stands_in():
    assert site_of(STEP.format(default=SHOW, run="show(loss)"), "loss.item()").node is not None
