"""Parameters of helpers that the calls which run every step give on the host already."""

from __future__ import annotations

import pytest
from snippets import IMPORTS

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.rules.tpl105_cpu_copy_in_hot_loop import CpuCopyInHotLoop

FILE = """
def get_numpy(tensor):
    {body}

def look(model, frame):
    return get_numpy(model.encode(frame.cuda()).cuda())

def train(model, loader, optimizer):
    found = []
    for x in loader:
        mean = model(x.cuda())
        loss = mean.sum()
        loss.backward()
        optimizer.step()
        {call}
    return found
"""
COPY = "return tensor.to('cpu').detach().numpy()"


@pytest.mark.parametrize(
    ("body", "call", "found"),
    [
        (COPY, "found.append(get_numpy(mean.cpu()))", False),
        (COPY, "host = mean.cpu(); found.append(get_numpy(host))", False),
        (COPY, "found.append(get_numpy(mean))", True),
        (COPY, "found.append(get_numpy(mean.cpu())); found.append(get_numpy(mean))", True),
        (f"tensor = tensor * torch.ones(3, device='cuda')\n    {COPY}", "found.append(get_numpy(mean.cpu()))", True),
        ("return tensor[0].sum().to('cpu')", "found.append(get_numpy(mean.cpu()))", False),
    ],
)
def test_a_helper_is_not_told_of_what_its_hot_calls_have_copied(body, call, found):
    text = IMPORTS + FILE.format(body=body, call=call)
    file = SourceFile(Project.of_texts({"a.py": text}), "a.py", text)
    lines = {f.location.line for f in CpuCopyInHotLoop().check(file, file.project)}
    copied = {n for n, line in enumerate(text.splitlines(), 1) if "'cpu'" in line}
    assert bool(lines & copied) is found
