"""A finding in a helper names the loops that call it, in both reports."""

import json

from torchperf_lint.__main__ import main

HELPER = "class Meter:\n    def update(self, value):\n        self.total += value.item()\n"
TRAIN = """import torch
from meter import Meter

def train(model, loader, optimizer):
    meter = Meter()
    for x in loader:
        loss = model(x.cuda(non_blocking=True)).mean()
        loss.backward()
        optimizer.step()
        meter.update(loss)
"""


def test_the_loops_that_call_a_helper(tmp_path, monkeypatch, capsys):
    (tmp_path / "meter.py").write_text(HELPER, encoding="utf-8")
    (tmp_path / "train.py").write_text(TRAIN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    asked = ["--isolated", "--no-cache", "--jobs", "1", "--exit-zero", "--select", "TPL101"]
    main([*asked, "--output-format", "json", "meter.py"])
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert finding["related"] == []
    (caller,) = finding["callers"]
    assert (caller["path"], caller["line"], caller["column"]) == ("train.py", 10, 9)
    assert caller["message"] == "calls it every training step"
    main([*asked, "--output-format", "full", "meter.py"])
    assert "train.py:10:9  calls it every training step" in capsys.readouterr().out
