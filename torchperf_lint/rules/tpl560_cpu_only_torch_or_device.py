"""TPL560."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from torchperf_lint.confirming import unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.switches import asked_for, reached
from torchperf_lint.facts.processes.framework_runs import is_trial_file
from torchperf_lint.facts.processes.host_training import HIDDEN, VISIBLE, kept_on_host
from torchperf_lint.facts.processes.process_flags import explained, gives_reason
from torchperf_lint.facts.processes.text_blocks import plain_statements
from torchperf_lint.facts.processes.text_files import TextFile
from torchperf_lint.facts.processes.text_settings import TextSetting, text_settings
from torchperf_lint.model import Confidence, Finding, Location, Verdict
from torchperf_lint.rule import SourceRule, TextRule

_WHEELS = ("whl/cpu", "+cpu", "cpuonly")


class CpuOnlyTorchOrDevice(SourceRule, TextRule):
    """A run that trains is kept on the CPU by a literal, or by a build of torch that knows no other device.

    ## What it does
    Flags `torch.device("cpu")` and `"cpu"` where a script that trains moves its model there and names no other device;
    `accelerator="cpu"`, `use_cpu=True` and `Accelerator(cpu=True)`; `CUDA_VISIBLE_DEVICES` set to nothing or -1 in
    front of a training loop or command. In shell scripts, Dockerfiles and yaml files it flags wheels of torch for the
    CPU where the same file starts a training run. Tests, demonstrations and trials are left alone, as is what a flag
    decides.

    ## Why it is slow
    The whole run is computed on the host, beside whatever accelerator the machine has. Nothing fails and nothing warns.

    ## Example
    ```python
    import torch
    from torch import nn

    device = torch.device("cpu")

    def train(model: nn.Module, loader, optimizer, criterion):
        model.to(device)
        for x, y in loader:
            loss = criterion(model(x.to(device)), y.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def train(model: nn.Module, loader, optimizer, criterion):
        model.to(device)
        for x, y in loader:
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## When it is fine
    Where the user asks for it, and where nothing is trained:
    ```python
    import torch

    device = torch.device("cpu")

    def export(model, example, path):
        torch.onnx.export(model.to(device), (example.to(device),), path)
    ```

    ## Fix safety
    There is no automatic fix: whether the run has a device, and which, only its user knows.

    ## Confirmed by
    Nothing: a run that used no device cannot say that it should have.

    ## References
    - PyTorch, "Get Started": builds for CUDA, ROCm and the CPU; on Windows the wheels of PyPI are for the CPU.
    """

    code, name, since = "TPL560", "cpu-only-torch-or-device", "0.1.0"
    triggers = ('"cpu"', "'cpu'", "use_cpu", "no_cuda", "cpu=True", VISIBLE)
    keys = (VISIBLE, *_WHEELS)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each place that keeps a training run on the host."""
        del project
        if is_trial_file(file.path):
            return
        for found in kept_on_host(file):
            mark = found.mark
            if asked_for(file, mark.expression, mark.function):
                continue
            statement = file.enclosing(mark.function).statement(mark.expression) or mark.expression
            told = explained(file, statement) or explained(file, mark.expression)
            sure = reached(file, mark.function) and not told
            yield self.found(
                mark,
                message=f"`{found.written}` {found.what}",
                instead=found.instead,
                hot=found.hot,
                confidence=Confidence.LIKELY if sure else Confidence.POSSIBLE,
            )

    def check_text(self, file: TextFile) -> Iterator[Finding]:
        """Yield a finding for each setting or package that leaves a training run without a device."""
        if file.apart or not _trains().search(file.text):
            return
        for setting in text_settings(file, (VISIBLE,)):
            if setting.value in HIDDEN and _reaches_training(file, setting):
                yield self.found_in_text(
                    setting,
                    message="it hides every device from the training run that it stands in front of",
                    instead="leave it out, or name a device",
                )
        for setting in _wheels(file):
            yield self.found_in_text(
                setting,
                message=f"`{setting.value}` is a build of torch for the CPU, and the training run below uses it",
                instead="install the build for the machine's device: see https://pytorch.org/get-started",
            )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """A run on the host does not say what the machine has."""
        return unmeasured(run, finding.location, "a run that used no device cannot say that it should have")


@cache
def _trains() -> re.Pattern[str]:
    return re.compile(
        r"(?:python[\d.]*|torchrun|accelerate\s+launch|deepspeed|srun)[\"',\s](?:[^\n]*[\s\"'/._-])?"
        r"(?:pre)?(?:train|fine_?-?tun)\w*(?:\.py)?\b(?!_?data)"
    )


@cache
def _cpu_wheel() -> re.Pattern[str]:
    return re.compile(
        r"(?:pip3?|uv|conda|mamba)\b.*\b(?:install|add)\b.*?(?P<wheel>https?://download\.pytorch\.org/whl/cpu\b"
        r"|\btorch==[\d.]+\+cpu\b|\bcpuonly\b)"
    )


def _reaches_training(file: TextFile, setting: TextSetting) -> bool:
    """Whether what a setting stands in front of trains: its own command, or after `export` any below."""
    line = setting.location.line
    here = file.lines[line - 1]
    while here.endswith("\\") and line < len(file.lines):
        here, line = here[:-1] + " " + file.lines[line], line + 1
    exported = re.match(r"\s*(?:export|ENV)\s", here) or here.strip().startswith(f"{VISIBLE}:")
    rest = "\n".join(file.lines[setting.location.line - 1 :]) if exported else here
    return bool(_trains().search(rest))


def _wheels(file: TextFile) -> Iterator[TextSetting]:
    """The installations of torch for the CPU above a training run, but beside one for a device none."""
    if re.search(r"whl/(?:cu|rocm|xpu)|\+cu\d", file.text):
        return
    for statement in plain_statements(file):
        match = _cpu_wheel().search(statement.code)
        if match is not None and _trains().search("\n".join(file.lines[statement.line - 1 :])):
            at = Location(file.shown, statement.line, match.start("wheel") + 1, statement.line, match.end("wheel") + 1)
            yield TextSetting("torch", match["wheel"], at, gives_reason(statement.comment))
