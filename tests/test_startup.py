"""What a run imports: libcst takes as long as all the rest, and only fixes that move statements need it."""

import subprocess
import sys

import pytest

RUN = """
import sys
from torchperf_lint.adapters.cli import main
try:
    main(["--isolated", "--no-cache", "--exit-zero", "--jobs", "1", sys.argv[1]])
except SystemExit:
    pass
print("libcst" in sys.modules)
"""
CLEAN = "import torch\n\n\ndef f(x):\n    return torch.relu(x)\n"
FOUND = "import torch.nn as nn\n\nmodel = nn.DataParallel(nn.Linear(2, 2))\n"
CALL = """import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return x + torch.zeros(3).to(x.device)
"""
STATEMENT = """import torch

for batch in loader:
    loss.backward()
    optimizer.step()
    torch.cuda.empty_cache()
"""


@pytest.mark.parametrize(
    ("text", "imported"), [(CLEAN, "False"), (FOUND, "False"), (CALL, "False"), (STATEMENT, "True")]
)
def test_libcst_is_imported_where_a_statement_is_edited(text, imported, tmp_path):
    (tmp_path / "model.py").write_text(text, encoding="utf-8")
    command = [sys.executable, "-c", RUN, "model.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == imported, done.stdout + done.stderr
