"""Copies that an algorithm without a counterpart on the device needs."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.reads import copy_readings
from torchperf_lint.model import Confidence

NET = """\
{imports}


def helper(a):
    return {inside}


class Net(nn.Module):
    def forward(self, x: torch.Tensor):
        a = x.cuda().cpu().numpy()
        return {use}
"""


@pytest.mark.parametrize(
    ("imports", "inside", "use", "needed"),
    [
        ("import librosa", "a", "librosa.resample(a, orig_sr=1, target_sr=2)", True),
        ("from pystoi import stoi as score", "score(a)", "helper(a)", True),
        ("from scipy.optimize import linear_sum_assignment", "a", "linear_sum_assignment(a)", True),
        ("import scipy.optimize", "a", "scipy.optimize.linear_sum_assignment(a)", True),
        ("import onnxruntime as ort", "a", "self.session_.run(None, {'x': a})", True),
        ("import onnxruntime as ort", "a", "self.profession.add(a)", False),
        ("import cv2", "a", "cv2.connectedComponents(a)", True),
        ("import cv2", "a", "cv2.GaussianBlur(a, (5, 5), 0)", False),
        ("from scipy import stats", "a", "stats.norm(a)", False),
        ("import numpy as np", "a", "np.sum(a)", False),
        ("import librosa", "a", "helper(a)", False),
        ("", "a", "self.runtime.infer([a])", True),
        ("", "a", "self.estimators[0].predict(a[:, 0])", True),
        ("", "a", "self.runtime(a.astype('float32'))", True),
        ("", "a", "self.extractor(list(a), return_tensors='pt')", True),
        ("", "a", "self.sparse_table[a]", True),
        ("", "a", "x[a]", False),
        ("", "a", "self.meter.update(a)", False),
        ("", "a", "self.history.append(a)", False),
        ("", "a", "self.helper_of(a.sum() > 1)", False),
    ],
)
def test_copies_for_the_host(imports, inside, use, needed):
    files = texts(NET.format(imports=imports, inside=inside, use=use))
    (reading,) = copy_readings(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))
    assert (reading.read.value.confidence is Confidence.POSSIBLE) == needed


@pytest.mark.parametrize(
    ("imports", "use", "needed"),
    [
        ("from pynndescent import NNDescent", "NNDescent(a)", True),
        ("from qiskit.circuit.library import UnitaryGate", "UnitaryGate(a, 2)", True),
        ("from sklearn.cluster import KMeans", "KMeans(8).fit(a)", True),
        ("from sklearn.metrics import f1_score", "f1_score(a, a)", False),
        ("import wandb", "wandb.Histogram(a)", False),
        ("from utils import accuracy", "accuracy(a)", False),
        ("import torch_scatter", "torch_scatter.scatter(a)", False),
    ],
)
def test_libraries_that_know_no_device(imports, use, needed):
    files = texts(NET.format(imports=imports, inside="a", use=use))
    (reading,) = copy_readings(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))
    assert (reading.read.value.confidence is Confidence.POSSIBLE) == needed


@pytest.mark.parametrize(
    ("called", "possible"),
    [("", True), ("\n\nclass Net(nn.Module):\n    def forward(self, x):\n        return spread(x)\n", False)],
)
def test_a_copy_in_what_nobody_calls_is_possible(called, possible):
    code = """
def spread(x: torch.Tensor) -> torch.Tensor:
    y = torch.zeros(4, device=x.device)
    a = (x + y).cpu()
    return a - a.mean()
"""
    files = texts(code + called)
    (reading,) = copy_readings(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))
    assert (reading.read.value.confidence is Confidence.POSSIBLE) == possible
