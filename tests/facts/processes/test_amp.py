"""Replaced spellings of mixed precision: which are uses, and which are there for old versions."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.processes.amp import legacy_uses


def uses(snippet):
    """(dotted name, device) of each use in a file of its own."""
    files = texts(snippet)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    return [(use.dotted, use.device) for use in legacy_uses(file)]


CUDA = ("torch.cuda.amp.autocast", "cuda")


@pytest.mark.parametrize(
    ("snippet", "expected"),
    [
        ("with torch.cuda.amp.autocast():\n    pass", [CUDA]),
        ("from torch.cuda.amp import autocast as a\nwith a():\n    pass", [CUDA]),
        ("from torch.cuda import amp\n@amp.autocast()\ndef f(x):\n    return x", [CUDA]),
        ("from torch.cuda.amp import autocast\nclass A:\n    @autocast\n    def f(self): pass", [CUDA]),
        ("with torch.cpu.amp.autocast():\n    pass", [("torch.cpu.amp.autocast", "cpu")]),
        ("from functools import partial\nf = partial(torch.cuda.amp.autocast, dtype=None)", [CUDA]),
        ("from apex import amp\namp.initialize(m, o)", [("apex.amp.initialize", None)]),
        ("try:\n    from apex import amp\nexcept ImportError:\n    amp = None\namp.initialize(m, o)",
         [("apex.amp.initialize", None)]),
        ("import apex\nif a == 'torch':\n    m = nn.SyncBatchNorm.convert_sync_batchnorm(m)\n"
         "elif a == 'apex':\n    m = apex.parallel.convert_syncbn_model(m)", []),
        ("import apex\nif a:\n    m = nn.SyncBatchNorm(m)\nelse:\n    m = apex.parallel.convert_syncbn_model(m)",
         [("apex.parallel.convert_syncbn_model", None)]),
        ("import apex\napex.parallel.DistributedDataParallel(m)", [("apex.parallel.DistributedDataParallel", None)]),
        ("autocast = torch.cuda.amp.autocast\ndef f():\n    with autocast(enabled=True):\n        pass", [CUDA]),
        ("try:\n    autocast = torch.cuda.amp.autocast\nexcept:\n    class autocast: pass\n"
         "def f():\n    with autocast():\n        pass", [CUDA]),
        ("try:\n    from torch.cuda.amp import autocast\nexcept ImportError:\n    autocast = None\n"
         "def f():\n    with autocast():\n        pass", [CUDA]),
        ("try:\n    from torch.cuda.amp import autocast\nexcept ImportError:\n    class autocast: pass\n"
         "def f():\n    with autocast():\n        pass", [CUDA]),
        ("if torch.__version__ >= '1.6':\n    from torch.cuda.amp import autocast\n"
         "def f():\n    with autocast():\n        pass", [CUDA]),
        ("if TORCH_VERSION != 'parrots' and digit_version(TORCH_VERSION) >= digit_version('1.6.0'):\n"
         "    with torch.cuda.amp.autocast():\n        pass", [CUDA]),
        ("def f(x):\n    if not hasattr(x, 'half'):\n        return x\n"
         "    with torch.cuda.amp.autocast():\n        pass", [CUDA]),
        ("if torch_version() >= (1, 6):\n    with torch.cuda.amp.autocast():\n        pass", [CUDA]),
        ("if args.version == 2:\n    s = torch.cuda.amp.GradScaler()", [("torch.cuda.amp.GradScaler", "cuda")]),
        ("if use_amp:\n    s = torch.cuda.amp.GradScaler()", [("torch.cuda.amp.GradScaler", "cuda")]),
    ],
)  # fmt: skip
def test_uses(snippet, expected):
    assert uses(snippet) == expected


def test_names_that_come_with_a_star():
    files = texts({"helpers.py": "from torch.cuda.amp import GradScaler", "a.py": "x = 1"})
    files["a.py"] = "from helpers import *\n\ns = GradScaler()\nwith torch.cuda.amp.autocast():\n    pass\n"
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert [use.dotted for use in legacy_uses(file)] == ["torch.cuda.amp.GradScaler", "torch.cuda.amp.autocast"]


@pytest.mark.parametrize(
    "snippet",
    [
        "with torch.autocast('cuda'):\n    pass",
        "x: torch.cuda.amp.GradScaler = None",
        "isinstance(x, torch.cuda.amp.GradScaler)",
        "from torch.cuda.amp import autocast\ndef autocast(): pass\nwith autocast():\n    pass",
        "if torch.__version__ < '2.4':\n    s = torch.cuda.amp.GradScaler()",
        "if not hasattr(torch.amp, 'GradScaler'):\n    s = torch.cuda.amp.GradScaler()",
        "s = torch.amp.GradScaler('cuda') if new else torch.cuda.amp.GradScaler()",
        "def f():\n    if TORCH_2_4:\n        return NEW\n    return torch.cuda.amp.GradScaler()",
        "def f():\n    if a:\n        return torch.autocast\n    with g():\n        return torch.cuda.amp.GradScaler()",
        "try:\n    s = torch.amp.GradScaler('cuda')\nexcept TypeError:\n    s = torch.cuda.amp.GradScaler()",
        "try:\n    from torch.amp import autocast\nexcept E:\n    from torch.cuda.amp import autocast\nautocast()",
        "try:\n    a = torch.amp.autocast\nexcept E:\n    a = torch.cuda.amp.autocast\nwith a():\n    pass",
        "try:\n    from torch import autocast\nexcept E:\n    from torch.cuda.amp import autocast\nautocast()",
        "try:\n    autocast = torch.cuda.amp.autocast\nexcept E:\n    from torch.amp import autocast\nautocast()",
        "if torch.__version__ < '2.4':\n    autocast = torch.cuda.amp.autocast\nautocast()",
        "if version.parse(torch.__version__) < V:\n    from torch.cuda import amp\namp.autocast()",
        "if torch.__version__ >= '1.10':\n    pass\nelse:\n    from torch.cuda.amp import autocast\nautocast()",
        "if torch_version() >= (2, 4):\n    pass\nelse:\n    torch.cuda.amp.autocast()",
        "if digit_version(V) >= digit_version('1.6') and digit_version(V) < digit_version('2.4'):\n"
        "    torch.cuda.amp.autocast()",
        "if torch_version() < (1, 6):\n    from torch.amp import autocast\n"
        "else:\n    from torch.cuda.amp import autocast\nautocast()",
        "from torch.cuda.amp import autocast\nclass autocast: pass\nwith autocast():\n    pass",
        "from apex.optimizers import FusedAdam\nFusedAdam(p)",
        "from apex import amp\namp.state_dict()",
        "from torch_npu.npu.amp import autocast\nautocast()",
    ],
)
def test_what_is_no_use_or_for_old_versions(snippet):
    assert uses(snippet) == []
