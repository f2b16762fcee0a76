"""TPL320."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchperf_lint.confirming import unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.loaders.tokenizing import NAMES, map_around, tokenizes
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.conditions import words
from torchperf_lint.facts.syntax.literals import is_literal, is_true
from torchperf_lint.model import Confidence, Finding, Verdict
from torchperf_lint.patterns import pattern
from torchperf_lint.rule import SourceRule

_NAMES = frozenset({*NAMES, "pad"})
SHORT = 64
"""Tokens up to which nobody gains much by leaving padding out."""
_ADVICE = (
    "leave padding out here and pad each batch to its own longest: `DataCollatorWithPadding(tokenizer, "
    'pad_to_multiple_of=8)`, or `padding="longest"` where batches are collated; batches of similar lengths gain most'
)
_FIXED_SHAPES = pattern(r"xla|tpu|static|compile|export|onnx|fixed", re.IGNORECASE)
_NEED_FIXED_SHAPES = (
    "torch_xla",
    "torch.compile(",
    "CUDAGraph",
    "make_graphed_callables",
    "torch.onnx",
    "torch.export",
)
_CALIBRATES = pattern(r"calib", re.IGNORECASE)
"""Data that tell a quantizer what values to expect."""
_CONTRACT = pattern(r"clip|t5_?encoder|text_encoder|pooled|vae|unet", re.IGNORECASE)
"""Models of images are conditioned on texts of a fixed number of tokens."""


class PadToMaxLength(SourceRule):
    """A tokenizer that pads every text of a data set to the greatest length.

    ## What it does
    Flags `padding="max_length"` or `pad_to_max_length=True`, given to a tokenizer in `__getitem__` or the `collate_fn`
    of a data set, or in a function that `datasets.map` runs. Lengths up to 64 or computed from the batch, encoders of
    a fixed number of tokens, and files that compile for fixed shapes are left alone.

    ## Why it is slow
    The model computes on the padding as on the text: each layer of the network costs what the greatest length costs,
    attention the square of it, and copies carry it. Most texts are far shorter than the limit.

    ## Example
    ```python
    from datasets import load_dataset
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained("bert-base-cased")

    def tokenize(rows):
        return tokenizer(rows["text"], padding="max_length", max_length=512, truncation=True)

    train = load_dataset("imdb", split="train").map(tokenize, batched=True)
    ```

    ## Use instead
    ```python
    from datasets import load_dataset
    from transformers import AutoTokenizer, DataCollatorWithPadding

    tokenizer = AutoTokenizer.from_pretrained("bert-base-cased")
    collate = DataCollatorWithPadding(tokenizer, pad_to_multiple_of=8)

    def tokenize(rows):
        return tokenizer(rows["text"], max_length=512, truncation=True)

    train = load_dataset("imdb", split="train").map(tokenize, batched=True)
    ```
    and `collate_fn=collate` for the loader.

    ## When it is fine
    Where shapes have to stay the same, on TPUs or for `torch.compile(dynamic=False)` and CUDA graphs, and for text
    encoders that were trained on a fixed number of tokens:
    ```python
    from datasets import load_dataset
    from transformers import CLIPTokenizer

    tokenizer = CLIPTokenizer.from_pretrained("openai/clip-vit-large-patch14")

    def tokenize(rows):
        return tokenizer(rows["caption"], padding="max_length", max_length=tokenizer.model_max_length, truncation=True)

    captions = load_dataset("captions", split="train").map(tokenize, batched=True)
    ```

    ## Fix safety
    There is no automatic fix: without padding, samples no longer stack, so the loader needs a collate function; a model
    that ignores its attention mask gives other results.

    ## Confirmed by
    Nothing in a run tells padding from text; the share of padding is `1 - attention_mask.float().mean()` of a batch.

    ## References
    - Hugging Face documentation, "Padding and truncation"; course, chapter 3, "Dynamic padding".
    - QData/TextAttack #737.
    """

    code, name, since = "TPL320", "pad-to-max-length", "0.1.0"
    triggers = ('"max_length"', "'max_length'", "pad_to_max_length")

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each tokenizer that pads the texts of a data set to the greatest length."""
        del project
        if file.mentions(_NEED_FIXED_SHAPES):
            return
        for site in file.calls_among(call for call in file.outline.calls if last_part(call.callee) in _NAMES):
            where = (
                _where(site)
                if _pads(site.call) and not (_has_to(site) or _is_computed(site) or _without_mask(site))
                else None
            )
            if where is not None and (tokenizes(site) or _is_pad(site)):
                yield self.found(
                    site,
                    message=f"`{file.brief(site.call.func)}` pads every text to the greatest length, {where}: "
                    "the model computes on the padding as well",
                    instead=_ADVICE,
                    hot=site.hot if site.hot is not None and site.hot.kind == "data" else None,
                    confidence=Confidence.LIKELY,
                )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """No probe looks into batches."""
        return unmeasured(run, finding.location, "no probe tells padding from text")


def _pads(call: ast.Call) -> bool:
    """Whether a call asks for the greatest length, and that is not a short one."""
    given = {k.arg: k.value for k in call.keywords}
    padding, legacy, length = given.get("padding"), given.get("pad_to_max_length"), given.get("max_length")
    asked = is_literal(padding, "max_length")
    asked = asked or is_true(legacy)
    if not asked or (length is not None and last_part(chain(length)) == "model_max_length"):
        return False
    return not (isinstance(length, ast.Constant) and isinstance(length.value, int) and length.value <= SHORT)


def _without_mask(site: Site) -> bool:
    """`tokenizer(prompt, ...).input_ids`: a model that is told of no padding, as of an image's caption, was made so.

    Where the same function looks for the padding, `labels[labels == tokenizer.pad_token_id] = -100`, it is left out of
    the loss: a decoder that only looks back needs no mask besides.
    """
    asked = site.file.enclosing(site.function).of_kinds((ast.Compare,))
    if any(isinstance(n, ast.Attribute) and n.attr == "pad_token_id" for test in asked for n in ast.walk(test)):
        return False
    parent = site.file.enclosing(site.function).parents.get(site.call)
    if isinstance(parent, ast.Attribute):
        return parent.attr == "input_ids"
    return isinstance(parent, ast.Subscript) and ast.unparse(parent.slice) == "'input_ids'"


def _is_pad(site: Site) -> bool:
    """`tokenizer.pad(samples, ...)`."""
    return (
        site.receiver is not None
        and "okenizer" in last_part(chain(site.receiver))
        and chain(site.call.func).endswith(".pad")
    )


def _where(site: Site) -> str | None:
    """When the texts of a data set are tokenised by a call, in words; None where it is for something else."""
    if site.hot is not None and site.hot.kind == "data":
        return "for the batches of a loader"
    one = map_around(site)
    if one is not None and _CALIBRATES.search(chain(one.site.call.func)):
        return None  # a few hundred texts, once, and often each has to fill the whole length
    return f"in what `{chain(one.site.call.func)}` (line {one.site.record.line}) prepares" if one is not None else None


def _has_to(site: Site) -> bool:
    """Whether a branch for fixed shapes, or a model that takes a fixed number of tokens, asks for the padding."""
    around = site.file.enclosing(site.function).around(site.call)
    if any(isinstance(node, ast.If | ast.IfExp) and _FIXED_SHAPES.search(words(node.test)) for node in around):
        return True
    thing = site.file.project.values.thing(site.call.func, site.frame)
    record = site.file.outline.functions[site.function]
    named = f"{chain(site.call.func)} {thing.dotted if thing is not None else ''} {record.qualname}"
    return bool(_CONTRACT.search(named))


def _is_computed(site: Site) -> bool:
    """Whether the function of a call works out the length, of the texts in hand or of where it runs."""
    length = site.keyword("max_length")
    body = site.file.project.body(site.file.path)
    named = [node.id for node in ast.walk(length) if isinstance(node, ast.Name)] if length is not None else []
    found = [d for name in named for d in (body.reaching(site.function, name, site.start) or [] if body else [])]
    return any(not isinstance(d.value, ast.Constant) for d in found)
