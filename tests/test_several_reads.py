"""Several reads of one step are one finding, whichever rules run, whatever is silenced, in whatever order they come."""

from __future__ import annotations

import random
from textwrap import dedent

import pytest

from torchperf_lint.catalog import rule_class
from torchperf_lint.evidence import Evidence
from torchperf_lint.lint import Target, lint
from torchperf_lint.merging import merged
from torchperf_lint.model import Confidence, Finding, Location, Related, Severity
from torchperf_lint.recorded import Event
from torchperf_lint.settings import Settings

STEP = """\
import torch
import torch.nn.functional as F
from tqdm import tqdm


def train(model, loader, optimizer, device):
    rows, bar = [], tqdm(loader)
    for x, y in bar:
        loss = F.mse_loss(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
{reads}
    return rows
"""


def found(tmp_path, reads, **settings):
    """(code, line relative to the first read, related lines) of each finding in a step that ends with `reads`."""
    path = tmp_path / "train.py"
    text = STEP.format(reads="\n".join(" " * 8 + line for line in dedent(reads).strip().splitlines()))
    path.write_text(text)
    first = text.splitlines().index("        optimizer.step()") + 1
    report = lint(Target(tmp_path, Settings(**settings), (path,)))
    assert report.problems == ()
    return [
        (f.code, f.location.line - first, [r.location.line - first for r in f.related if r.location.line > first])
        for f in report.findings
    ]


THREE = """
rows.append(loss.item())
rows.append(norm.item())
rows.append(float(loss.sqrt()))
"""


def codes(*chosen):
    return {"select": chosen}


@pytest.mark.parametrize(
    ("selected", "expected"),
    [
        ({}, [("TPL119", 1, [2, 3])]),
        (codes("TPL119"), [("TPL119", 1, [2, 3])]),
        (codes("TPL119", "TPL103"), [("TPL119", 1, [2, 3])]),
        (codes("TPL101", "TPL103"), [("TPL101", 1, []), ("TPL101", 2, []), ("TPL103", 3, [])]),
        (codes("TPL103"), [("TPL103", 3, [])]),
    ],
)
def test_reads_are_one_finding_whichever_rules_run(tmp_path, selected, expected):
    assert found(tmp_path, THREE, **selected) == expected


@pytest.mark.parametrize(
    ("reads", "expected"),
    [
        ("rows.append(loss.item())  # noqa: TPL101\nrows.append(norm.item())\nrows.append(float(loss))",
         [("TPL119", 2, [3])]),
        ("rows.append(loss.item())  # noqa\nrows.append(norm.item())\nrows.append(float(loss))",
         [("TPL119", 2, [3])]),
        ("rows.append(loss.item())\nrows.append(norm.item())  # torchperf-lint: ignore[TPL101] wanted",
         [("TPL101", 1, [])]),
        ("rows.append(loss.item())\nrows.append(float(norm))  # noqa: TPL103", [("TPL101", 1, [])]),
        ("rows.append(loss.item())  # noqa: TPL119\nrows.append(norm.item())",
         [("TPL101", 1, []), ("TPL101", 2, [])]),
        ("rows.append(loss.item())  # noqa: TPL1\nrows.append(norm.item())  # noqa: TPL1", []),
    ],
)  # fmt: skip
def test_a_silenced_read_is_no_part_of_it(tmp_path, reads, expected):
    assert found(tmp_path, reads) == expected


def test_a_silenced_read_is_no_unused_suppression(tmp_path):
    assert found(tmp_path, "rows.append(loss.item())  # noqa: TPL101\nrows.append(norm.item())") == [("TPL101", 2, [])]


@pytest.mark.parametrize(
    ("reads", "expected"),
    [
        ("rows.append({'loss': loss.item(), 'norm': norm.item()})", [("TPL119", 1, [1])]),
        ("rows.append({\n    'loss': loss.item(),\n    'norm': norm.item(),\n})", [("TPL119", 2, [3])]),
        ("a = loss.item(); b = norm.item()\nrows += [a, b]", [("TPL119", 1, [1])]),
        ("rows.append(loss.item())\nloss.backward()\nrows.append(norm.item())", [("TPL101", 1, []), ("TPL101", 3, [])]),
        ("rows.append([p.item() for p in (loss, norm)])\nrows.append(norm.item())",
         [("TPL101", 1, []), ("TPL101", 2, [])]),
        ("n = norm.item()\nscaled = loss / n\nrows.append(scaled.item())", [("TPL101", 1, []), ("TPL101", 3, [])]),
        ("rows.append(loss.item())\nbar.set_postfix(norm=norm.item())", [("TPL101", 1, []), ("TPL120", 2, [2])]),
        ("bar.set_postfix(loss=loss.item(), norm=norm.item())", [("TPL120", 1, [1, 1])]),
        ("assert torch.isfinite(loss).item(), f'{norm}'\nrows.append(loss.item())",
         [("TPL107", 1, []), ("TPL101", 2, [])]),
        ("if x.shape[0] > 1:\n    rows.append(loss.item())\nrows.append(norm.item())",
         [("TPL101", 2, []), ("TPL101", 3, [])]),
        ("rows.append(sum(p.grad.norm().item() for p in model.parameters()))\nrows.append(loss.item())",
         [("TPL108", 1, []), ("TPL101", 2, [])]),
    ],
)  # fmt: skip
def test_what_belongs_together(tmp_path, reads, expected):
    assert [(c, n, sorted(more)) for c, n, more in found(tmp_path, reads)] == expected


def finding(code, line, column=1, **more):
    at = Location("a.py", line, column, line, column + 5)
    return Finding(code, "a-name", at, Severity.WARNING, Confidence.LIKELY, code, None, None, "", "", **more)


def test_the_order_of_rules_does_not_matter():
    findings = [
        finding("TPL101", 3, root_cause="line 3", leads=False),
        finding("TPL103", 3, 9, root_cause="line 3", leads=False),
        finding("TPL101", 5, root_cause="line 5", leads=False),
        finding("TPL119", 3, root_cause="lines 3 and 5", covers=("line 3", "line 5", "line 7")),
        finding("TPL101", 9, root_cause="line 9", leads=False),
    ]
    expected = merged(findings)
    assert [(f.code, f.location.line, [r.location.line for r in f.related]) for f in expected] == [
        ("TPL119", 3, [3, 5]),
        ("TPL101", 9, []),
    ]
    for seed in range(20):
        random.Random(seed).shuffle(findings)
        assert merged(findings) == expected


def test_the_most_specific_leads():
    line = [
        finding("TPL101", 3, 20, root_cause="line 3", leads=False),
        finding("TPL120", 3, 5, root_cause="line 3", leads=False),
        finding("TPL107", 3, 30, root_cause="line 3"),
    ]
    assert [f.code for f in merged(line)] == ["TPL107"]
    assert [f.code for f in merged(line[:2])] == ["TPL120"]


def wait(line, count=100):
    where = {"line": line, "column": 1, "end_line": line, "end_column": 6}
    return Event("sync", "stream", "a.py", count=count, train_turns=count, **where)


@pytest.mark.parametrize(
    ("waits", "outcome", "reason"),
    [
        ([wait(3), wait(5)], "confirmed", "200 synchronisations at lines 3 and 5 in 100 of 100 steps"),
        ([wait(5)], "confirmed", "100 synchronisations at line 5 in 100 of 100 steps"),
        ([wait(4), wait(9)], "refuted", "the line ran at least 3 times without a synchronisation"),
        ([wait(3, 2), wait(5, 2)], "refuted", "4 synchronisations at lines 3 and 5 in 2 of 100 steps: not every step"),
    ],
)
def test_the_verdict_counts_all_reads(waits, outcome, reason):
    related = (Related(Location("a.py", 5, 1, 5, 6), "here, too"),)
    run = Evidence(tuple(waits), steps=100, train_batches=100, device="H100", lines={"a.py": {3: 3, 5: 3}})
    verdict = rule_class("TPL119")().confirm(finding("TPL119", 3, related=related), run)
    assert (verdict.outcome.value, verdict.reason) == (outcome, reason)


def test_reads_of_which_one_is_made_of_the_other_cannot_be_fetched_together(tmp_path):
    reads = "rows.append(F.pad(loss[None], (0, 1), value=norm.item()).sum().item())"
    assert {code for code, _, _ in found(tmp_path, reads)} == {"TPL101"}
    beside = "rows.append((loss.item(), norm.item()))"
    assert {code for code, _, _ in found(tmp_path, beside)} == {"TPL119"}
