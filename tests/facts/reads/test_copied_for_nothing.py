"""Copies to the host that nothing reads."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.copied_for_nothing import is_never_read

HEAD = """\
import time

@torch.no_grad()
def test(model: nn.Module, loader, kept):
    model.eval()
    for x in loader:
        out = model(x.cuda(non_blocking=True))
        best = out.topk(3)[1]
"""


def unread(body, head=HEAD):
    """Whether nothing reads the one `.cpu()` of an evaluation loop."""
    files = texts(head + indent(dedent(body), " " * 8) + "\n    return kept\n")
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    (site,) = file.hot_calls("cpu")
    return is_never_read(file, site)


@pytest.mark.parametrize(
    "body",
    [
        "out = out.cpu().numpy()\ndel out\nkept.append(best)",
        "scores = out.detach().cpu().numpy().copy()",
        "scores = out.cpu()\nkept.append(best)",
        "scores = out.cpu()\nscores = best\nkept.append(scores)",
        "if len(x) > 3:\n    scores = out.cpu()\nkept.append(best)",
    ],
)
def test_nothing_reads_it(body):
    assert unread(body)


@pytest.mark.parametrize(
    "body",
    [
        "scores = out.cpu()\nkept.append(scores)",
        "scores = out.cpu()\nscores = scores + 1",
        "scores = out.cpu()\nscores += 1\nkept.append(scores)",
        "scores = out.cpu()\nif len(x) > 3:\n    continue\ndel scores\nkept.append(scores)",
        "if kept:\n    kept.append(last)\nlast = out.cpu()",
        "last = out.cpu()\ndef show():\n    return last\nkept.append(show)",
        "kept.append(lambda: last)\nlast = out.cpu()\ndel last",
        "scores = out.cpu()\nkept.append(locals())",
        "scores = out.cpu()\nif len(x) > 3:\n    del scores\nelse:\n    kept.append(scores)",
        "kept.scores = out.cpu()",
        "scores = np.exp(out.cpu())",
        "scores = out.cpu().topk(3)",
        "a = b = out.cpu()\nkept.append(b)",
        "_ = out.cpu()",
        "begin = time.perf_counter()\nscores = out.cpu()\nkept.append(time.perf_counter() - begin)",
        "global scores\nscores = out.cpu()",
    ],
)
def test_it_may_be_read_or_waited_for(body):
    assert not unread(body)


TIMED = [
    ("    begin = time.time()\n", "    print(len(kept) / (time.time() - begin))\n"),
    ("    begin = now()\n", "    print(now() - begin)\n\ndef now():\n    return time.perf_counter()\n"),
]


@pytest.mark.parametrize(("before", "behind"), TIMED)
def test_a_loop_that_is_timed_as_a_whole_waits_by_its_copies(before, behind):
    head = HEAD.replace("    for x", before + "    for x")
    files = texts(head + "        scores = out.cpu()\n        kept.append(len(x))\n" + behind)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    (site,) = file.hot_calls("cpu")
    assert not is_never_read(file, site)


def test_a_block_that_a_timer_measures_waits_by_its_copies():
    assert not unread("with phase_timer():\n    for _ in kept:\n        scores = out.cpu()")
    assert unread("with autocast():\n    for _ in kept:\n        scores = out.cpu()")


def test_what_a_module_binds_may_be_read_elsewhere():
    head = "model = nn.Linear(3, 3).cuda()\nwith torch.no_grad():\n    for x in DataLoader(data):\n"
    files = texts(head + "        out = model(x.cuda())\n        scores = out.cpu()\n")
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert not any(is_never_read(file, site) for site in file.hot_calls("cpu"))
