"""TPL762."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import by_variable
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.switches import Mark, asked_for, reached
from torchperf_lint.facts.fixes.edits import fix_of
from torchperf_lint.facts.processes.environment import settings_of, unset
from torchperf_lint.facts.processes.process_flags import explained
from torchperf_lint.facts.processes.text_files import TextFile
from torchperf_lint.facts.processes.text_settings import text_settings
from torchperf_lint.model import Confidence, Finding, Safety, Severity, Verdict
from torchperf_lint.rule import SourceRule, TextRule

_ON = frozenset({"1", "true", "yes"})
_TRANSPORTS = {
    "NCCL_P2P_DISABLE": "keeps devices from copying to each other directly: gradients go through host memory",
    "NCCL_SHM_DISABLE": "keeps processes from sharing memory: what cannot go directly goes through the network",
    "NCCL_IB_DISABLE": "keeps NCCL from InfiniBand: machines exchange gradients through IP sockets",
}
_WAITS = "makes the host wait for each collective operation, so that it no longer runs ahead of the device"
_BLOCKING = ("NCCL_BLOCKING_WAIT", "TORCH_NCCL_BLOCKING_WAIT")
_DETAIL = "TORCH_DISTRIBUTED_DEBUG"
_LOG = "NCCL_DEBUG"


class DebugEnvLeftOn(SourceRule, TextRule):
    """Code sets a debugging variable of distributed training for every run.

    ## What it does
    Flags code that sets `TORCH_DISTRIBUTED_DEBUG=DETAIL` or `TORCH_NCCL_BLOCKING_WAIT=1` (`NCCL_BLOCKING_WAIT`) for
    its own process where no flag decides about it. `NCCL_P2P_DISABLE`, `NCCL_SHM_DISABLE` and `NCCL_IB_DISABLE` are
    reported as info, as some machines need them. `NCCL_DEBUG=INFO`, which costs a few lines of log, a setting with
    a comment that says why, and one in a function that nothing in the project calls are only `possible`.
    In shell scripts, Dockerfiles, yaml and .env files `DETAIL`, a blocking wait and `NCCL_DEBUG=TRACE` are found where
    no condition decides about them; a transport switched off there is taken for what that machine needs.

    ## Why it is slow
    With `DETAIL` every collective operation is preceded by others that compare shapes between the processes.
    A blocking wait stops the host at each one. Without a transport, gradients take a slower way on every machine,
    those that have no trouble with it, too.

    ## Example
    ```python
    import os

    import torch.distributed as dist

    os.environ["TORCH_DISTRIBUTED_DEBUG"] = "DETAIL"

    def main():
        dist.init_process_group("nccl")
    ```

    ## Use instead
    Set it in the shell for the run that needs it (`TORCH_DISTRIBUTED_DEBUG=DETAIL torchrun train.py`):
    ```python
    import torch.distributed as dist

    def main():
        dist.init_process_group("nccl")
    ```

    ## When it is fine
    Behind a flag, and for another process:
    ```python
    import os
    import subprocess
    import sys

    if "--debug" in sys.argv:
        os.environ["TORCH_DISTRIBUTED_DEBUG"] = "DETAIL"

    def check_links(command):
        subprocess.run(command, env={**os.environ, "NCCL_P2P_DISABLE": "1"}, check=True)
    ```

    ## Fix safety
    Unsafe: the setting is removed, with the import that nothing else uses. A machine that needs a transport switched
    off needs it set in its shell then.

    ## Confirmed by
    The variable in the environment of a training step of the run. What it costs no probe measures.

    ## References
    - PyTorch documentation of torch.distributed, "Debugging torch.distributed applications".
    - NVIDIA NCCL documentation, "Environment Variables".
    """

    code, name, since = "TPL762", "debug-env-left-on", "0.1.0"
    triggers = ("NCCL_", _DETAIL)
    probes = ("state",)
    keys = (*_BLOCKING, _DETAIL, _LOG)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each setting."""
        del project
        for variable in (*_TRANSPORTS, *_BLOCKING, _DETAIL, _LOG):
            if file.mentions((variable,)):
                for mark, value in settings_of(file, variable):
                    what = _effect(variable, _literal(value))
                    if what and not asked_for(file, mark.expression, mark.function):
                        yield self._told(mark, variable, what)

    def _told(self, mark: Mark, variable: str, what: str) -> Finding:
        file, node = mark.file, mark.expression
        statement = file.enclosing(mark.function).statement(node) or node
        sure = reached(file, mark.function) and variable != _LOG and not explained(file, statement)
        return self.found(
            mark,
            message=f"{variable} is set for every run: it {what}",
            instead="remove it, and set it in the shell for the run, or on the machine, that needs it: "
            f"`{variable}=... torchrun ...`",
            severity=Severity.INFO if variable in _TRANSPORTS or variable == _LOG else None,
            confidence=Confidence.LIKELY if sure else Confidence.POSSIBLE,
            fix=fix_of(mark, Safety.UNSAFE, lambda edit: unset(edit, node, variable)),
        )

    def check_text(self, file: TextFile) -> Iterator[Finding]:
        """Yield a finding for each line that sets one of those that no machine needs."""
        for setting in text_settings(file, self.keys):
            variable, value = setting.variable, setting.value.lower()
            if variable == _LOG and value != "trace":
                continue
            what = _effect(variable, value)
            if what:
                yield self.found_in_text(
                    setting,
                    message=f"{variable} is set for every run: it {what}",
                    instead=f"remove it, and type `{variable}={setting.value}` in front of the command for the run "
                    "that needs it",
                    severity=Severity.INFO if variable == _LOG else None,
                )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By the environment that a training step found."""
        variable = finding.message.partition(" ")[0]
        return by_variable(finding, run, variable, lambda value: bool(_effect(variable, value.lower())))


def _effect(variable: str, value: str) -> str:
    """What a setting does, in words; empty where it does nothing."""
    if variable == _DETAIL:
        return "compares shapes between all processes before each collective operation" if value == "detail" else ""
    if variable == _LOG:
        return {"info": "logs what NCCL sets up", "trace": "logs every call of NCCL"}.get(value, "")
    if value not in _ON:
        return ""
    return _TRANSPORTS.get(variable, _WAITS)


def _literal(node: ast.expr) -> str:
    """The value of `"1"`, `1`, `str(1)`, in lower case; empty for others."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str" and node.args:
        node = node.args[0]
    return str(node.value).lower() if isinstance(node, ast.Constant) else ""
