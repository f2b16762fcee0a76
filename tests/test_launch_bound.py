"""TPL658, on made-up windows: no probe counts kernels yet, and without a count it is silent."""

import pytest
from runs import GPU, run, utilisation, waiting

from torchperf_lint.rules.tpl658_small_op_soup_launch_bound import SmallOpSoupLaunchBound

WINDOW = {"steps": 4, "count": 6000, "median_us": 3.2, "busy_share": 0.3}
ON_GPU = {"device": GPU, "utilisation": utilisation(cores=8, gpu=0.97)}
"""By NVML, which counts any kernel, such a device is busy."""


def said(evidence):
    return list(SmallOpSoupLaunchBound().diagnose(evidence))


def test_many_small_kernels_and_an_idle_device():
    (found,) = said(run(state={"kernels": WINDOW}, shares={"backward": 0.4, "optimizer": 0.2}, **ON_GPU))
    assert found.title == "the device idles 70 % of the time between 1500 small kernels a step"
    assert found.evidence.startswith("the median kernel takes 3.2 us; the host spends 20.0 ms a step")
    assert found.share == pytest.approx(0.7)


SILENT = {
    "no window": run(**ON_GPU),
    "no steps in it": run(state={"kernels": {**WINDOW, "steps": 0}}, **ON_GPU),
    "a figure missing": run(state={"kernels": {**WINDOW, "busy_share": None}}, **ON_GPU),
    "a damaged one": run(state={"kernels": 7}, **ON_GPU),
    "long kernels": run(state={"kernels": {**WINDOW, "median_us": 40.0}}, **ON_GPU),
    "few kernels": run(state={"kernels": {**WINDOW, "count": 200}}, **ON_GPU),
    "a busy device": run(state={"kernels": {**WINDOW, "busy_share": 0.95}}, **ON_GPU),
    "waits for data": waiting(0.5, state={"kernels": WINDOW}, **ON_GPU),
    "waits for the device": run(state={"kernels": WINDOW}, shares={"waiting_for_the_device": 0.5}, **ON_GPU),
    "slow after the step": run(state={"kernels": WINDOW}, shares={"after_the_step": 0.5}, **ON_GPU),
    "the host computes": run(step_ms=400.0, state={"kernels": WINDOW}, **ON_GPU),
    "simulated": run(state={"kernels": WINDOW}, simulated=True),
    "shorter than the warm-up": run(steps=5, state={"kernels": WINDOW}, **ON_GPU),
}


@pytest.mark.parametrize("name", SILENT)
def test_where_it_is_silent(name):
    assert said(SILENT[name]) == []
