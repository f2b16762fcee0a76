"""TPL502 and TPL508: trials for runs that their device bounds, silent where anything they rest on was not recorded."""

from __future__ import annotations

from dataclasses import replace

import pytest
from runs import GPU, run, utilisation, waiting

from torchperf_lint.rules.tpl502_no_mixed_precision import NoMixedPrecision
from torchperf_lint.rules.tpl508_channels_last_missing import ChannelsLastMissing

GRAPH = {"nodes": 400, "cut": False, "hidden": 0, "depthwise": 0, "planar": 0, "channels_last": 0}
TRANSFORMER = {**GRAPH, "matmuls": {"float32": 70, "bfloat16": 2}, "convolutions": {"float32": 1}}
RESNET = {**GRAPH, "matmuls": {"bfloat16": 1}, "convolutions": {"bfloat16": 53}, "planar": 17}
BUSY = {"device": GPU, "utilisation": utilisation(cores=8, gpu=0.97)}


def on(graph, capability=(9, 0), **state):
    gpus = [{"index": 0, "name": GPU, "capability": list(capability)}] if capability else [{"index": 0, "name": GPU}]
    return run(shares={"waiting_for_the_device": 0.5}, state={"graph": graph, "gpus": gpus, **state}, **BUSY)


def precision(evidence):
    return list(NoMixedPrecision().diagnose(evidence))


def layout(evidence):
    return list(ChannelsLastMissing().diagnose(evidence))


def test_float32_on_tensor_cores_is_a_trial():
    (found,) = precision(on(TRANSFORMER, matmul_precision="highest", cudnn_allow_tf32=True))
    assert found.title == (
        "a trial: the device bounds this run, and 71 of 73 matrix products and convolutions of a step compute in "
        "float32"
    )
    assert "TF32 for matrix products: off, for convolutions: on" in found.evidence
    assert "was not measured" in found.evidence
    assert "bfloat16" in found.advice
    assert (found.share, found.actionable) == (None, False)


def test_before_bfloat16_it_is_float16_with_a_scaler():
    (found,) = precision(on(TRANSFORMER, capability=(7, 5)))
    assert "float16" in found.advice
    assert "bfloat16" not in found.advice
    assert "GradScaler" in found.advice
    assert "no TF32" in found.evidence


def test_what_was_not_recorded_is_said():
    (found,) = precision(on({**TRANSFORMER, "cut": True}))
    assert "TF32 for matrix products: not recorded, for convolutions: not recorded" in found.evidence
    assert "of the first 73" in found.title


SINGLE_IS_FINE = {
    "mixed already": on({**TRANSFORMER, "matmuls": {"bfloat16": 70}}),
    "double": on({**TRANSFORMER, "matmuls": {"float64": 70}}),
    "no tensor cores": on(TRANSFORMER, capability=(6, 1)),
    "capability not recorded": on(TRANSFORMER, capability=None),
    "a ROCm device": on(TRANSFORMER, build={"cuda": None, "hip": "6.2"}),
    "compiled": on({**TRANSFORMER, "hidden": 1}),
    "no graph": on(None),
    "a damaged graph": on([]),
    "no products": on({**GRAPH, "matmuls": {}, "convolutions": {}}),
    "idle": replace(on(TRANSFORMER), utilisation=utilisation(cores=8, gpu=0.5)),
    "use unknown": replace(on(TRANSFORMER), utilisation=utilisation(cores=8)),
    "waits for data": waiting(0.3, state=on(TRANSFORMER).state, **BUSY),
    "simulated": replace(on(TRANSFORMER), simulated=True),
    "no device": replace(on(TRANSFORMER), device=None),
    "shorter than the warm-up": run(steps=5, state=on(TRANSFORMER).state, **BUSY),
}


@pytest.mark.parametrize("name", SINGLE_IS_FINE)
def test_where_precision_is_silent(name):
    assert precision(SINGLE_IS_FINE[name]) == []


def test_channels_first_under_autocast_is_a_trial():
    (found,) = layout(on(RESNET))
    assert found.title == "a trial: the device bounds this run, and 17 of 17 convolutions keep channels first"
    assert "they compute in bfloat16" in found.evidence
    assert "what share of the step convolutions take was not measured" in found.evidence
    assert (found.share, found.actionable) == (None, False)


def test_tf32_convolutions_are_on_tensor_cores_too():
    graph = {**RESNET, "convolutions": {"float32": 53}}
    (found,) = layout(on(graph, cudnn_allow_tf32=True))
    assert "they compute in TF32" in found.evidence
    assert layout(on(graph, cudnn_allow_tf32=False)) == []
    assert layout(on(graph)) == []
    assert layout(on(graph, capability=(7, 0), cudnn_allow_tf32=True)) == []


LAYOUT_IS_FINE = {
    "channels last": on({**RESNET, "channels_last": 17}),
    "mostly channels last": on({**RESNET, "channels_last": 12}),
    "depthwise": on({**RESNET, "depthwise": 30}),
    "few": on({**RESNET, "planar": 2}),
    "a transformer with a stem": on({**RESNET, "matmuls": {"bfloat16": 200}}),
    "compiled": on({**RESNET, "hidden": 2}),
    "no tensor cores": on(RESNET, capability=(6, 0)),
    "capability not recorded": on(RESNET, capability=None),
    "idle": replace(on(RESNET), utilisation=utilisation(cores=8, gpu=0.5)),
    "no graph": on(None),
}


@pytest.mark.parametrize("name", LAYOUT_IS_FINE)
def test_where_layout_is_silent(name):
    assert layout(LAYOUT_IS_FINE[name]) == []
