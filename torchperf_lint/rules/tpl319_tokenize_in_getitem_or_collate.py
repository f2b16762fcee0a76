"""TPL319."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import by_the_data_set
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.loaders.per_item import ItemCall, item_calls, same_for_every_item, turns_in
from torchperf_lint.facts.loaders.tokenizing import NAMES, tokenizes
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.model import Confidence, Finding, Verdict
from torchperf_lint.rule import SourceRule

_COLLATES = frozenset({"collate_fn", "collate"})
_READS_FILES = frozenset(
    "open imread read_image decode_image load_image default_loader decode_jpeg imdecode VideoReader read_video "
    "torchaudio librosa pil_loader".split()
)
_DRAWS = frozenset(
    "random choice choices sample shuffle randint rand randn randperm uniform permutation augment augmentation".split()
)


class TokenizeInGetitemOrCollate(SourceRule):
    """A data set tokenises its texts one at a time, each time they are asked for.

    ## What it does
    Flags a tokenizer that `__getitem__` of a data set calls on the text of an item, and one that `collate_fn` calls in
    a loop over the samples. Of data sets that draw another text each time only what they tokenise in a loop over the
    texts of one item; beside images or sound that are read for the same item, the finding is `possible` and not shown
    by default.

    ## Why it is slow
    Every epoch turns the same texts into the same tokens. Fast tokenizers work in parallel on lists only; given one
    string at a time, the cost of the calls is most of it.

    ## Example
    ```python
    from torch.utils.data import Dataset
    from transformers import AutoTokenizer

    class Texts(Dataset):
        def __init__(self, texts, name):
            self.texts = texts
            self.tokenizer = AutoTokenizer.from_pretrained(name)

        def __len__(self):
            return len(self.texts)

        def __getitem__(self, index):
            return self.tokenizer(self.texts[index], truncation=True, max_length=512)
    ```

    ## Use instead
    Tokens made once, for all texts together:
    ```python
    from torch.utils.data import Dataset
    from transformers import AutoTokenizer

    class Texts(Dataset):
        def __init__(self, texts, name):
            tokenizer = AutoTokenizer.from_pretrained(name)
            self.tokens = tokenizer(texts, truncation=True, max_length=512)["input_ids"]

        def __len__(self):
            return len(self.tokens)

        def __getitem__(self, index):
            return {"input_ids": self.tokens[index]}
    ```
    With `datasets` that is `data.map(lambda rows: tokenizer(rows["text"], truncation=True), batched=True, num_proc=8)`,
    whose result is kept on disk; `DataCollatorWithPadding` pads each batch.

    ## When it is fine
    Where the text is another one each time:
    ```python
    import random

    from torch.utils.data import Dataset

    class Prompts(Dataset):
        def __init__(self, texts, prompts, tokenizer):
            self.texts, self.prompts, self.tokenizer = texts, prompts, tokenizer

        def __len__(self):
            return len(self.texts)

        def __getitem__(self, index):
            text = random.choice(self.prompts) + self.texts[index]
            return self.tokenizer(text, truncation=True, max_length=512)
    ```

    ## Fix safety
    There is no automatic fix: tokens kept take memory or disk.

    ## Confirmed by
    The loader of such a data set: that it read batches, and how long the loop waited for each.

    ## References
    - Hugging Face course, chapter 5, "Time to slice and dice": `map` with and without `batched=True`.
    - Hugging Face datasets documentation, "Batch mapping".
    """

    code, name, since = "TPL319", "tokenize-in-getitem-or-collate", "0.1.0"
    triggers = ("okeniz", "tok(", "tok.")
    probes = ("loader",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each text that is tokenised by itself."""
        del project
        if file.mentions(("def __getitem__",)):
            for items in _by_data_set(file):
                if not _calls(file, items[0], _DRAWS):
                    yield self._of_items(file, items)
                elif several := [item for item in items if turns_in(item)]:
                    yield self._one_by_one(file, several)
        if file.mentions(("def collate",)):
            for site in file.hot_calls(*NAMES):
                if _is_collated_one_by_one(site) and tokenizes(site):
                    yield self._collated(file, site)

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By the loaders of the data set, whose items are tokenised."""
        return by_the_data_set(finding, run, "tokenises each sample when it is asked for")

    def _of_items(self, file: SourceFile, items: list[ItemCall]) -> Finding:
        item = items[0]
        site = item.site
        assert site.hot is not None
        sure = Confidence.POSSIBLE if _calls(file, item, _READS_FILES) else Confidence.LIKELY
        return self.found(
            site,
            message=f"`{file.brief(site.call)}` tokenises one text for every sample that `{item.name}` makes, again in "
            "each epoch",
            instead="tokenise all texts once before training: `data.map(tokenize, batched=True, num_proc=8)` "
            "with `datasets`, or `tokenizer(texts)` in `__init__`; pad by the batch with `DataCollatorWithPadding`",
            hot=site.hot,
            confidence=max(sure, site.hot.confidence, key=lambda c: c.rank),
            related=[
                file.related(file.path, *one.site.start, "tokenises another text of the item") for one in items[1:]
            ],
        )

    def _one_by_one(self, file: SourceFile, items: list[ItemCall]) -> Finding:
        """Of a data set that draws its texts: it can do no more than take those of an item together."""
        item, calls = items[0], {one for item in items if (one := turns_in(item)) is not None}
        helped = sorted((one.path, one.call.line, one.call.column) for one in calls if one.call != item.site.record)
        others = [file.related(file.path, *one.site.start, "tokenises another text of the item") for one in items[1:]]
        starts = {one.site.start for one in items}
        assert item.site.hot is not None
        return self.found(
            item.site,
            message=f"`{file.brief(item.site.call)}` tokenises the texts of an item one by one, for every sample that "
            f"`{item.name}` makes",
            instead="give the tokenizer the list of the item's texts in one call, and a text that all of its pairs "
            "share only once",
            hot=item.site.hot,
            confidence=Confidence.POSSIBLE if _calls(file, item, _READS_FILES) else Confidence.LIKELY,
            related=[*others, *(file.related(*at, "runs for each of them") for at in helped if at[1:] not in starts)],
        )

    def _collated(self, file: SourceFile, site: Site) -> Finding:
        return self.found(
            site,
            message=f"`{file.brief(site.call)}` tokenises the texts of a batch one by one",
            instead="give the tokenizer the list of all texts of the batch, which it works through in parallel, or "
            "tokenise once before training: `data.map(tokenize, batched=True)`",
            hot=site.hot,
            confidence=Confidence.LIKELY,
        )


def _by_data_set(file: SourceFile) -> list[list[ItemCall]]:
    """The calls that tokenise a text of an item, those of each data set together."""
    found: dict[object, list[ItemCall]] = {}
    for item in item_calls(file, *NAMES):
        if tokenizes(item.site) and _is_of_the_item(item):
            found.setdefault(item.root, []).append(item)
    return list(found.values())


def _is_of_the_item(item: ItemCall) -> bool:
    """Whether what is tokenised is the text of the item, not a prompt that is the same for all."""
    first = item.site.call.args[0] if item.site.call.args else item.site.keyword("text")
    return first is not None and not isinstance(first, ast.Starred) and not same_for_every_item(item, first)


def _calls(file: SourceFile, item: ItemCall, names: frozenset[str]) -> bool:
    """Whether `__getitem__`, the function of the call, or another method they call, calls one of these names."""
    body, project = file.project.body(file.path), file.project
    seen = {item.site.function, *([item.root.index] if item.root.path == file.path else [])}
    for function in list(seen):
        for callee in body.callees(function) if body is not None else ():
            targets = project.types.targets(file.path, function, callee)
            seen |= {key.index for key in targets if key.path == file.path}
    found = {
        part for f in seen for callee in (body.callees(f) if body is not None else ()) for part in callee.split(".")
    }
    return bool({last_part(part) for part in found} & names)


def _is_collated_one_by_one(site: Site) -> bool:
    """Whether a call stands in a loop or comprehension of a `collate_fn`."""
    outline = site.file.outline
    if outline.functions[site.function].name not in _COLLATES or site.hot is None or site.hot.kind != "data":
        return False
    region = outline.regions[site.record.region]
    while region.function == site.function and region.kind not in ("function", "class"):
        if region.kind in ("loop", "comprehension"):
            return True
        region = outline.regions[region.parent]
    return False
