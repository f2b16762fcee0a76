"""TPL871."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.files.switches import Mark
from torchperf_lint.facts.loaders.lazy_transforms import made_by, transform_of
from torchperf_lint.facts.processes.framework_runs import is_ordinary, is_trial
from torchperf_lint.facts.processes.training_arguments import ARGUMENTS, TRAINERS
from torchperf_lint.facts.syntax.arguments import keyword, literal, unpacks_keywords
from torchperf_lint.facts.values.datasets import item_work
from torchperf_lint.model import Confidence, Finding, Verdict
from torchperf_lint.rule import SourceRule

_WORKERS = "dataloader_num_workers"


class HfTrainerDataloaderDefaults(SourceRule):
    """A Hugging Face trainer without loader workers, over a data set that works for each item.

    ## What it does
    Flags `TrainingArguments(...)` whose `dataloader_num_workers` is absent or 0, where the same function hands them to
    a `Trainer` with a `train_dataset` that is known to do real work for each item: one with a function set by
    `set_transform` or `with_transform` that transforms images, reads audio or tokenises, or a data set of the
    project's own that opens, decodes or transforms.

    ## Why it is slow
    Without workers, the default, every item is read, transformed and collated in the training process, between two
    steps, while the device waits; nothing is fetched ahead.

    ## Example
    ```python
    from datasets import load_dataset
    from transformers import Trainer, TrainingArguments

    def main(model, processor):
        def transform(batch):
            return processor(images=batch["image"], return_tensors="pt")

        data = load_dataset("imagefolder", data_dir="data")["train"].with_transform(transform)
        args = TrainingArguments("out", per_device_train_batch_size=32, remove_unused_columns=False)
        Trainer(model=model, args=args, train_dataset=data).train()
    ```

    ## Use instead
    ```python
    from datasets import load_dataset
    from transformers import Trainer, TrainingArguments

    def main(model, processor, workers: int):
        def transform(batch):
            return processor(images=batch["image"], return_tensors="pt")

        data = load_dataset("imagefolder", data_dir="data")["train"].with_transform(transform)
        args = TrainingArguments(
            "out",
            per_device_train_batch_size=32,
            remove_unused_columns=False,
            dataloader_num_workers=workers,
            dataloader_persistent_workers=workers > 0,
        )
        Trainer(model=model, args=args, train_dataset=data).train()
    ```

    ## When it is fine
    For text that was tokenised before, by `map`: to read an item is to copy a few numbers.
    ```python
    from datasets import load_dataset
    from transformers import Trainer, TrainingArguments

    def main(model, tokenizer):
        def tokenize(batch):
            return tokenizer(batch["text"], truncation=True)

        data = load_dataset("imdb", split="train").map(tokenize, batched=True)
        args = TrainingArguments("out", per_device_train_batch_size=32)
        Trainer(model=model, args=args, train_dataset=data).train()
    ```

    ## Fix safety
    There is no automatic fix: the right number depends on the machine and on what an item costs; measure the time a
    step waits for the loader. A transform that uses the device must be made safe for worker processes first.

    ## Confirmed by
    Nothing yet: the loader is made inside the trainer, away from the line.

    ## References
    - transformers 5.23: `TrainingArguments.dataloader_num_workers`, which is 0 by default.
    - huggingface/transformers #20581: training on images with and without.
    """

    code, name, since = "TPL871", "hf-trainer-dataloader-defaults", "0.1.0"
    triggers = ("Trainer(",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each trainer without workers whose data set works for each item."""
        for trainer in file.calls_of(*TRAINERS):
            arguments = _arguments(file, project, trainer)
            data = keyword(trainer.call, "train_dataset")
            if arguments is None or data is None or is_trial(arguments) or not is_ordinary(trainer):
                continue
            work = transform_of(project.values, data, trainer.frame) or item_work(project.values, data, trainer.frame)
            if work is not None:
                yield self._told(trainer, arguments, work)

    def _told(self, trainer: Site, arguments: ast.Call, work: str) -> Finding:
        file = trainer.file
        return self.found(
            Mark(file, arguments, trainer.function),
            message=f"no workers fetch ahead for the trainer at line {trainer.call.lineno}: {work}, in the training "
            "process",
            instead=f"pass `{_WORKERS}` (try 4 and watch how long a step waits for data) and "
            "`dataloader_persistent_workers=True`",
            confidence=Confidence.LIKELY,
            related=[file.related(file.path, trainer.call.lineno, trainer.start[1], "trains with these arguments")],
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """The loader is made inside the trainer."""
        return unmeasured(run, finding.location, "the loader is made inside the trainer, away from this line")


def _arguments(file: SourceFile, project: Project, trainer: Site) -> ast.Call | None:
    """The call that made a trainer's arguments in the same function, where it leaves the loader without workers."""
    made = made_by(project.values, keyword(trainer.call, "args"), trainer.frame)
    if made is None or file.denotes(made.func, trainer) not in ARGUMENTS or unpacks_keywords(made):
        return None
    if keyword(made, _WORKERS) is None:
        return None if file.mentions((_WORKERS,)) else made
    return made if literal(made, _WORKERS) in (0, None) else None
