"""Warnings are noted at the user's line, and shown, caught, logged and raised as if nobody listened."""

import ast
import mmap
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
from watching import DRIVE, finish

from torchperf_lint import catalog
from torchperf_lint.events import read
from torchperf_lint.warned import KINDS, about

torch = pytest.importorskip("torch")

SCRIPT = """\
import logging, sys, warnings
import torch
from torch.utils.data import DataLoader, TensorDataset

def arrays():
    import numpy
    return torch.tensor([numpy.zeros(3)] * 3)

try:
    arrays()
except ImportError:
    pass
loader = DataLoader(TensorDataset(torch.zeros(4)), pin_memory=True)
next(iter(loader))
for _ in range(3):
    next(iter(loader))
warnings.warn("the script's own")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    with torch.autograd.detect_anomaly(): pass
print([str(message.message) for message in caught])
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    with torch.autograd.detect_anomaly(): pass
with warnings.catch_warnings():
    warnings.simplefilter("error")
    try:
        torch.autograd.detect_anomaly()
    except UserWarning as error:
        print("raised", error)
logging.captureWarnings(True)
logging.basicConfig(stream=sys.stdout)
with torch.autograd.detect_anomaly(): pass
logging.captureWarnings(False)
kept = warnings.showwarning
warnings.showwarning = lambda message, category, filename, line, *rest: print("mine", category.__name__, line)
torch.cuda.amp.GradScaler
from torch.amp import GradScaler
GradScaler("cuda")
warnings.showwarning = kept
print(len(warnings.filters), sorted(map(str, globals().get("__warningregistry__", {}))))
"""


def line_of(text):
    return next(number for number, line in enumerate(SCRIPT.splitlines(), 1) if text in line)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("warned")
    script, events = directory / "script.py", directory / "run.events.jsonl"
    script.write_text(SCRIPT, encoding="utf-8")
    alone = [sys.executable, str(script)]
    watched = [sys.executable, str(DRIVE), str(events), str(directory / "result.json"), str(script)]
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda command: finish(command, directory), (alone, watched)))
    return SimpleNamespace(alone=done[0], watched=done[1], record=read(str(events)))


def test_everything_that_the_script_prints_is_as_it_is_alone(runs):
    assert runs.alone[0] == 0, runs.alone[2].decode()
    assert b"raised Anomaly Detection" in runs.alone[1]
    assert b"WARNING:py.warnings" in runs.alone[1]
    assert b"mine UserWarning" in runs.alone[1]
    assert b"no accelerator is found" in runs.alone[2]
    assert runs.watched == runs.alone


def noted(runs):
    record = runs.record
    for number, event in record.events.items():
        if event["kind"] == "warning":
            yield event.get("text", event["what"]), record.sites[event["site"]]["line"], record.counts[number]["n"]


def test_each_is_noted_at_the_line_that_led_to_it(runs):
    lines = {(text[:20], line) for text, line, _ in noted(runs)}
    anomaly = [line for text, line in lines if text.startswith("Anomaly")]
    assert len(anomaly) == 2, "the one that was caught, and the one that was logged"
    assert ("other", line_of("the script's own")) in lines
    assert ("'pin_memory' argument", line_of("next(iter(loader))")) in {(t[:21], n) for t, n, _ in noted(runs)}
    assert ("torch.cuda.amp.GradS", line_of('GradScaler("cuda")')) in lines


def test_cpp_warnings_lose_the_place_in_torchs_sources(runs):
    pytest.importorskip("numpy")
    (text,) = [text for text, line, _ in noted(runs) if line == line_of("torch.tensor([numpy")]
    assert text.startswith("Creating a tensor from a list of numpy.ndarrays")
    assert "Triggered" not in text


def literals(path):
    """The texts of a source, implicit concatenation done."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


HOME = Path(torch.__file__).parent
PYTHON = [kind for kind in KINDS if kind.source.endswith(".py") and ":" not in kind.source]
CPP = [kind for kind in KINDS if kind.source.endswith((".cpp", ".h"))]
ONLY_WITH_CUDA = ("aten/src/ATen/native/cudnn/RNN.cpp",)


@pytest.mark.parametrize("kind", PYTHON, ids=lambda kind: kind.source)
def test_the_texts_are_those_of_this_torch(kind):
    path = HOME / kind.source
    if not path.exists():
        pytest.skip(f"torch {torch.__version__} has no {kind.source}")
    texts = [" ".join(text.split()) for text in literals(path)]
    for part in kind.parts:
        # Parts of a text in braces stand between others.
        assert any(part in text or text.startswith(part) for text in texts), part


@pytest.mark.parametrize("kind", [k for k in CPP if k.source not in ONLY_WITH_CUDA], ids=lambda kind: kind.source)
def test_the_texts_are_those_of_this_torchs_libraries(kind):
    libraries = [path for path in (HOME / "lib").glob("libtorch_*.so") if path.stat().st_size]
    if not libraries:
        pytest.skip("no libraries of torch to look into")
    for part in kind.parts:
        assert any(_holds(path, part.encode()) for path in libraries), part


def _holds(path, text):
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as memory:
        return memory.find(text) >= 0


def test_each_kind_names_a_rule_that_there_is():
    codes = {rule.code for rule in catalog.rule_classes()}
    assert {kind.code for kind in KINDS if kind.code} <= codes


def test_a_kind_is_known_by_all_of_its_parts():
    assert about("This DataLoader will create 9 worker processes in total.").code == "TPL906"
    assert about("This DataLoader will create nothing") is None
    assert about("") is None


def test_the_table_is_light():
    code = "import sys, torchperf_lint.warned; print('torch' in sys.modules, 'libcst' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
