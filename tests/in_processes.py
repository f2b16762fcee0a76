"""Python code run in a process of its own, because probes and the simulated device are for a whole process."""

import subprocess
import sys
import textwrap

from fake_rules import ENVIRONMENT, UNCOMPILED


def python(directory, code, *, simulate=True, check=True):
    """What `code` prints, as lines; it is the file code.py in `directory`, on a simulated device."""
    before = "import torchperf_lint\ntorchperf_lint.simulate()\n" if simulate else "import torchperf_lint\n"
    path = directory / "code.py"
    path.write_text(before + textwrap.dedent(code), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", path.name],
        cwd=directory,
        env={**ENVIRONMENT, **({} if "compile" in code else UNCOMPILED), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if check:
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.splitlines() if check else done
