"""A script that really runs leaves its first steps in the record, the trace and the page."""

import json

from builders import watch
from test_trace import checked, of

from torchperf_lint.spans import sample_of

SCRIPT = """
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        for x, in DataLoader(TensorDataset(torch.randn(128, 4)), batch_size=4):
            model(x).sum().backward()
            optimizer.step()
"""


def test_the_first_steps_are_in_the_record_the_trace_and_the_page(tmp_path):
    ran = watch(tmp_path, SCRIPT, options=("--trace", "run.json", "--html", "run.html"))
    assert ran.returncode == 0, ran.err
    found = sample_of(ran.record)
    assert [turn.number for turn in found.turns] == list(range(11, 75))
    assert {"data", "forward", "backward", "optimizer", "after the step"} <= {span.phase for span in found.spans}
    assert {span.begins[0] for span in found.spans if span.begins} == {"run.py"}
    shown = checked((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert [e["name"] for e in of(shown, "X", cat="step")] == [f"step {n}" for n in range(11, 75)]
    assert "Steps 11 to 18 as they ran" in (tmp_path / "run.html").read_text(encoding="utf-8")
    assert len(json.dumps(ran.record.spans)) < 40_000
