"""What a reading shows of the value it reads."""

from __future__ import annotations

from textwrap import indent

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.reads import conversion_readings, copy_readings, item_readings

STEP = """\
def train(model, loader, optimizer, compute, scheduler, env, kept):
    for batch in loader:
        loss = compute(model, batch)
        found = compute.details(batch)
        loss.backward()
        optimizer.step()
"""


def read(code, imports=None):
    """What is read from the device by code in a training step."""
    snippet = STEP + indent(code, " " * 8) + "\n\ndef device(x):\n    return x.to('cuda')\n"
    files = texts(snippet) if imports is None else texts(snippet, imports)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    return [file.brief(r.operand) for r in (*item_readings(file), *copy_readings(file), *conversion_readings(file))]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("kept.append(found['kl'].item())", ["found['kl']"]),
        ("kept.append(found.kl.mean().cpu())", ["found.kl.mean()"]),
        ("kept.append(found.kl.to('cpu'))", ["found.kl"]),
        ("a, b = compute(batch)\nkept.append(b.item())", ["b"]),
        ("kept.append(v.item() if isinstance(v, torch.Tensor) else v for v in found)", ["v"]),
        ("kept.append(v if isinstance(v, float) else v.item() for v in found)", ["v"]),
        ("kept.append(apply_to_collection(found, torch.Tensor, lambda v: v.item()))", ["v"]),
        ("losses = compute(batch)\nkept.append({k: float(v) for k, v in losses.items()})", ["v"]),
        ("kept.append({k: float(v) for k, v in compute.batch_metrics.items()})", ["v"]),
        ("cpu = torch.device('cpu')\nkept.append(loss.to(cpu))", ["loss"]),
        ("out = model(batch)\nkept.append(float(out['perplexity']))", ["out['perplexity']"]),
        ("out = compute.policy(**batch)\nkept.update({k: float(out[k]) for k in names if k in out})", ["out[k]"]),
    ],
)
def test_a_tensor_is_read(code, expected):
    assert read(code) == expected


@pytest.mark.parametrize(
    "code",
    [
        "kept.append(np.load('x').item())",
        "kept.append(env.reward.item())",
        "kept.append(scheduler.sigmas[0].item())",
        "kept.append(v.item() if isinstance(v, np.generic) else v for v in found)",
        "found.encoder.cpu()",
        "kept.append(found.text_model.cpu())",
        "settings = compute(batch)\nkept.append({k: float(v) for k, v in settings.items()})",
        "losses = {'a': len(found), 'b': compute.a}\nkept.append({k: float(v) for k, v in losses.items()})",
        "out = compute(batch)\nkept.append(float(out['rate']))",
        "out = model(batch)\nout['rate'] = 3\nkept.append(float(out['rate']))",
        "out = model(batch) if batch else compute.last\nkept.append(float(out['rate']))",
        "cpu = compute.device\nkept.append(found.to(cpu))",
    ],
)
def test_something_else_is_read(code):
    assert read(code) == []


def test_a_file_without_torch_reads_no_tensors():
    assert read("kept.append(found['kl'].item())", imports="import numpy as np\n") == []


@pytest.mark.parametrize(("asked", "expected"), [("item", ["found[0]"]), ("cpu", [])])
def test_what_a_forward_pass_hands_to_the_host_may_be_a_container(asked, expected):
    code = f"""
    class Net(nn.Module):
        def forward(self, x):
            x = x.cuda()
            found = helper(x)
            self.kept.append(found[0].{asked}())
            return x
    """
    files = texts(code)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert [file.brief(r.operand) for r in (*item_readings(file), *copy_readings(file))] == expected
