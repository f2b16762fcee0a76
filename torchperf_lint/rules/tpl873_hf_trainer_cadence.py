"""TPL873."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.confirming import unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.constants.named_settings import literals_written_out
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.files.switches import Mark
from torchperf_lint.facts.fixes.edits import Editor, fix_of
from torchperf_lint.facts.processes.framework_runs import is_ordinary, small
from torchperf_lint.facts.processes.process_flags import explained
from torchperf_lint.facts.processes.training_arguments import ARGUMENTS, ONLINE
from torchperf_lint.facts.syntax.arguments import keyword, literal
from torchperf_lint.facts.syntax.literals import UNKNOWN
from torchperf_lint.model import Confidence, Edit, Finding, Safety, Severity, Verdict
from torchperf_lint.rule import SourceRule

_OFTEN = 4
"""Emptying the cache more rarely than this costs a part of what it costs in every step."""
_FEW_STEPS = 10
"""Between two checkpoints or evaluations."""


class _Cost(NamedTuple):
    """What an argument makes the trainer do."""

    name: str
    what: str
    instead: str
    severity: Severity = Severity.WARNING
    becomes: str | None = ""
    """What the fix passes; empty where the default is what most runs want, None where only the user knows."""
    by_step: bool = True
    """Whether it matters less the longer a step takes."""


class HfTrainerCadence(SourceRule):
    """`TrainingArguments` that make a Hugging Face trainer stop in every step, or every few.

    ## What it does
    Flags arguments of `TrainingArguments`, its sisters (`Seq2SeqTrainingArguments`, `SFTConfig`, ...) given as
    literals, or by a name that is bound to one, where no flag decides about them:

    - `torch_empty_cache_steps` of 1 to 4;
    - `full_determinism=True` and `skip_memory_metrics=False`;
    - `save_steps` of 1 to 10, and with a strategy of "steps" `eval_steps` of 1 to 10;
    - `include_num_input_tokens_seen` and, with another strategy than "epoch", `logging_steps=1`, as information.

    Where steps are long anyway (`gradient_accumulation_steps` above 1, `gradient_checkpointing=True`, trainers that
    generate text in every step) it is only `possible`. So is `eval_accumulation_steps=1`.

    ## Why it is slow
    An emptied cache must be filled again by `cudaMalloc`, which waits for the device; the option's own help says about
    10 % slower. `full_determinism` sets `CUDA_LAUNCH_BLOCKING=1`: the host waits for every kernel. Memory metrics
    keep a thread busy that asks for the host's memory without pause. To log or to count tokens is to gather a number
    from all processes and to wait for it.

    ## Example
    ```python
    from transformers import Trainer, TrainingArguments

    def main(model, data):
        args = TrainingArguments("out", per_device_train_batch_size=32, torch_empty_cache_steps=1)
        Trainer(model=model, args=args, train_dataset=data).train()
    ```

    ## Use instead
    ```python
    from transformers import Trainer, TrainingArguments

    def main(model, data):
        args = TrainingArguments("out", per_device_train_batch_size=32, logging_steps=50)
        Trainer(model=model, args=args, train_dataset=data).train()
    ```
    Against memory that is fragmented: `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`.

    ## When it is fine
    In a short run, in one whose steps take many seconds, and behind a flag:
    ```python
    from transformers import Trainer, TrainingArguments

    def main(model, data, careful: bool):
        short = TrainingArguments("out", max_steps=20, logging_steps=1, torch_empty_cache_steps=1)
        Trainer(model=model, args=short, train_dataset=data).train()
        args = TrainingArguments("out", full_determinism=careful, logging_steps=1, gradient_accumulation_steps=64)
        Trainer(model=model, args=args, train_dataset=data).train()
    ```

    ## Fix safety
    Unsafe: the argument is removed, so that the default holds (no emptying of the cache); `logging_steps` becomes 50,
    for the default of 500 leaves a short run without a number. A run that only just fits into memory may then not fit;
    numbers that a later step reads may be missing. There is no fix for `save_steps` and `eval_steps`: how often is
    right, nobody but the user knows. None either where a name is passed, which may be used elsewhere.

    ## Confirmed by
    Nothing: no probe looks at the trainer's settings.

    ## References
    - transformers 5.23: help of `torch_empty_cache_steps`, `full_determinism`, `skip_memory_metrics`; the source of
      `Trainer._track_num_input_tokens` and `enable_full_determinism`.
    """

    code, name, since = "TPL873", "hf-trainer-cadence", "0.1.0"
    triggers = (
        *("torch_empty_cache_steps", "full_determinism", "skip_memory_metrics", "logging_steps"),
        *("save_steps", "eval_steps", "include_num_input_tokens_seen", "eval_accumulation_steps"),
    )

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each argument that makes the trainer stop."""
        del project
        for site in file.calls_of(*ARGUMENTS):
            settings = literals_written_out(site)
            costs = list(_costs(settings))
            if not costs or not is_ordinary(site):
                continue
            long = _has_long_steps(site, settings)
            for cost in costs:
                written = keyword(settings, cost.name)
                assert written is not None
                doubtful = (long and cost.by_step) or cost.name == "eval_accumulation_steps"
                yield self._told(site, cost, written, doubtful)

    def _told(self, site: Site, cost: _Cost, written: ast.expr, doubtful: bool) -> Finding:
        given = keyword(site.call, cost.name)
        assert given is not None
        mark = Mark(site.file, given, site.function)
        doubtful = doubtful or explained(site.file, given) or explained(site.file, written)
        return self.found(
            mark,
            message=f"`{cost.name}={site.file.brief(written)}` {cost.what}",
            instead=cost.instead,
            severity=cost.severity,
            confidence=Confidence.POSSIBLE if doubtful else Confidence.LIKELY,
            fix=fix_of(mark, Safety.UNSAFE, lambda edit: _edits(edit, site.call, cost)) if written is given else None,
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """No probe looks at the trainer's settings."""
        return unmeasured(run, finding.location, "no probe looks at the trainer's settings")


def _edits(edit: Editor, call: ast.Call, cost: _Cost) -> list[Edit]:
    if cost.becomes is None:
        return []
    return edit.set_keyword(call, cost.name, cost.becomes) if cost.becomes else edit.drop_argument(call, cost.name)


def _has_long_steps(site: Site, settings: ast.Call) -> bool:
    """Whether a step is known to take long, so that what is done once a step weighs little; unknown is long."""
    accumulated = keyword(settings, "gradient_accumulation_steps")
    return (
        site.file.denotes(site.call.func, site) in ONLINE
        or (accumulated is not None and literal(settings, "gradient_accumulation_steps") != 1)
        or literal(settings, "gradient_checkpointing") is True
    )


def _costs(call: ast.Call) -> Iterator[_Cost]:
    if small(literal(call, "torch_empty_cache_steps"), _OFTEN):
        yield _Cost(
            "torch_empty_cache_steps",
            "empties the allocator's cache every few steps, and the next step allocates it again",
            "leave it out; against fragmented memory set `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`",
        )
    if literal(call, "full_determinism") is True:
        yield _Cost(
            "full_determinism",
            "sets `CUDA_LAUNCH_BLOCKING=1`: the host waits for every kernel",
            "leave it out; `seed` is set anyway, and `torch.use_deterministic_algorithms(True)` needs no blocking",
            by_step=False,
        )
    if literal(call, "skip_memory_metrics") is False:
        yield _Cost(
            "skip_memory_metrics",
            "keeps a thread busy that asks for the host's memory without pause",
            "leave it out; `torch.cuda.max_memory_allocated()` at the end tells the peak for nothing",
            by_step=False,
        )
    if literal(call, "include_num_input_tokens_seen") in (True, "all", "non_padding"):
        yield _Cost(
            "include_num_input_tokens_seen",
            "gathers a number from all processes and waits for it in every step",
            "leave it out, or count the tokens of the data set once",
            Severity.INFO,
        )
    yield from _intervals(call)


def _intervals(call: ast.Call) -> Iterator[_Cost]:
    if small(literal(call, "logging_steps"), 1) and _by_steps(call, "logging_strategy"):
        yield _Cost(
            "logging_steps",
            "gathers the loss, waits for it and writes a log line in every step",
            "`logging_steps=50`: the trainer logs the mean of the steps between",
            Severity.INFO,
            becomes="50",
        )
    if small(literal(call, "save_steps"), _FEW_STEPS) and _by_steps(call, "save_strategy"):
        yield _Cost(
            "save_steps",
            "writes model and optimizer to disk every few steps, while the device waits",
            "save every few minutes, or `save_strategy='epoch'`",
            becomes=None,
        )
    if small(literal(call, "eval_steps"), _FEW_STEPS) and _evaluates_by_steps(call):
        yield _Cost(
            "eval_steps",
            "evaluates on the whole evaluation data every few steps",
            "evaluate every few minutes, or `eval_strategy='epoch'`",
            becomes=None,
        )
    if small(literal(call, "eval_accumulation_steps"), 1):
        yield _Cost(
            "eval_accumulation_steps",
            "copies what each evaluation batch gave to the host and empties the allocator's cache",
            "a larger number, or `preprocess_logits_for_metrics` that keeps little of each batch",
            Severity.INFO,
        )


def _by_steps(call: ast.Call, name: str) -> bool:
    """Whether a strategy is "steps", which is the default."""
    return keyword(call, name) is None or literal(call, name) == "steps"


def _evaluates_by_steps(call: ast.Call) -> bool:
    """The same for evaluation, which has another default and two names."""
    chosen = [literal(call, name) for name in ("eval_strategy", "evaluation_strategy")]
    return "steps" in [value for value in chosen if value is not UNKNOWN]
