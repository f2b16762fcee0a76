"""TPL321."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.fixes.edits import fix_of
from torchperf_lint.facts.loaders.tokenizing import Mapped, mapped, tokenizes
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.facts.syntax.arguments import unpacks
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_false
from torchperf_lint.model import Confidence, Finding, Fix, Safety, Severity, Verdict
from torchperf_lint.rule import SourceRule

_BATCHED = "batched"
_LIBRARY = "datasets"
_OTHER_METHODS = frozenset(
    "apply_chat_template decode batch_decode pad convert_tokens_to_ids convert_ids_to_tokens from_pretrained".split()
)
"""Of a tokenizer, but no faster for a list."""
_OTHER_LIBRARIES = ("tensorflow", "torchdata", "webdataset", "pandas", "polars", "ray", "pyspark", "dask", "jax")


class DatasetsMapUnbatched(SourceRule):
    """`datasets.map` tokenises one example at a time.

    ## What it does
    Flags `data.map(function)` without `batched=True` of a Hugging Face data set, where all that the function does is to
    give texts of one example to a tokenizer.

    ## Why it is slow
    A fast tokenizer works through a list of texts in parallel, in Rust; called for each example it runs on one core,
    and Python makes a dictionary, checks it and hands it to Arrow for every example. The pass comes before the first
    step, once for each change of the function.

    ## Example
    ```python
    from datasets import load_dataset
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained("bert-base-cased")
    data = load_dataset("imdb", split="train")
    data = data.map(lambda example: tokenizer(example["text"], truncation=True))
    ```

    ## Use instead
    ```python
    from datasets import load_dataset
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained("bert-base-cased")
    data = load_dataset("imdb", split="train")
    data = data.map(lambda examples: tokenizer(examples["text"], truncation=True), batched=True)
    ```

    ## When it is fine
    A function that does something with the single example:
    ```python
    from datasets import load_dataset
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained("bert-base-cased")

    def with_prompt(example):
        text = example["question"] + "\\n" + example["answer"]
        return tokenizer(text, truncation=True)

    data = load_dataset("squad", split="train").map(with_prompt)
    ```

    ## Fix safety
    Unsafe: with `batched=True` the function is given lists, and rows must have all of the columns that are returned.

    ## Confirmed by
    Nothing: it runs before the first step, where no probe looks.

    ## References
    - Hugging Face course, chapter 5, "Time to slice and dice": `map` with and without `batched=True`.
    - Hugging Face datasets documentation, "Batch mapping".
    """

    code, name, since = "TPL321", "datasets-map-unbatched", "0.1.0"
    severity = Severity.INFO
    triggers = (".map(",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each map whose function only tokenises."""
        del project
        if not file.mentions(("okeniz", "tok(", "encode")):
            return
        for one in mapped(file):
            if not _unbatched(one.site):
                continue
            for site in file.calls_among(_calls_in(file, one)):
                apart = last_part(site.record.callee) in _OTHER_METHODS
                taken = _gives_texts(site, one) if not apart and tokenizes(site) else None
                if taken is not None:
                    yield self._finding(file, one.site, site, taken)
                    break

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """It runs before the loop."""
        return unmeasured(run, finding.location, "it runs before the first step, where no probe looks")

    def _finding(self, file: SourceFile, site: Site, tokenized: Site, simple: bool) -> Finding:
        known = _is_of_the_library(file, site)
        return self.found(
            site,
            message=f"`map` calls `{file.brief(tokenized.call.func)}` for one example at a time",
            instead="pass `batched=True`: the function is given lists of texts, which a fast tokenizer works through "
            "in parallel; with a slow one add `num_proc`",
            confidence=Confidence.LIKELY if known and simple else Confidence.POSSIBLE,
            fix=_batched(site, tokenized) if known and simple else None,
            related=[file.related(file.path, *tokenized.start, "tokenises one text")],
        )


def _unbatched(site: Site) -> bool:
    """Whether a call is known to hand over single examples."""
    given = site.keyword(_BATCHED)
    return not unpacks(site.call) and (given is None or is_false(given))


def _is_of_the_library(file: SourceFile, site: Site) -> bool:
    """Whether what is mapped is a data set of `datasets`: by its class, or in a file that imports no other library."""
    assert site.receiver is not None
    thing = file.project.values.thing(site.receiver, site.frame)
    if thing is not None:
        return thing.kind == "external" and thing.dotted.startswith(f"{_LIBRARY}.")
    heads = {name.partition(".")[0] for name in file.outline.imports.values()}
    return _LIBRARY in heads and not heads & set(_OTHER_LIBRARIES)


def _calls_in(file: SourceFile, one: Mapped) -> list[Call]:
    """The calls that a mapped function makes itself."""
    calls = file.outline.calls
    if one.function is not None:
        return [call for call in calls if call.function == one.function]
    start, end = file.span(one.given)
    return [c for c in calls if c.function == one.site.function and start <= (c.line, c.column) < end]


def _gives_texts(site: Site, one: Mapped) -> bool | None:
    """Whether all that a mapped function does is to tokenise columns of its example; None where it takes no column."""
    body, function = site.file.project.body(site.file.path), one.function
    node = one.given if function is None else body.functions.get(function) if body is not None else None
    if not isinstance(node, ast.Lambda | ast.FunctionDef) or not node.args.args:
        return None
    bound = isinstance(node, ast.FunctionDef) and site.file.outline.functions[function or 0].bound
    names = [a.arg for a in node.args.args][int(bool(bound)) :]
    columns = [_is_column(argument, names[:1]) for argument in site.call.args]
    columns += [_is_column(k.value, names[:1]) for k in site.call.keywords if k.arg in ("text", "text_pair")]
    if not any(columns):
        return None
    if isinstance(node, ast.Lambda):
        return all(columns) and node.body is site.call
    return all(columns) and all(_only_hands_on(statement, site.call) for statement in node.body)


def _is_column(node: ast.expr, names: list[str]) -> bool:
    """`example["text"]`."""
    return isinstance(node, ast.Subscript) and chain(node.value) in names and isinstance(node.slice, ast.Constant)


def _only_hands_on(statement: ast.stmt, call: ast.Call) -> bool:
    """Whether a statement tokenises, or returns what came of it."""
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    if isinstance(statement, ast.Assign):
        return statement.value is call
    return isinstance(statement, ast.Return) and (statement.value is call or isinstance(statement.value, ast.Name))


def _batched(site: Site, tokenized: Site) -> Fix | None:
    """None where one example has another shape than one of several: `return_tensors`, padding to the longest."""
    changed = {k.arg for k in tokenized.call.keywords if k.arg in ("return_tensors", "is_split_into_words")}
    padding = tokenized.keyword("padding")
    if changed or (isinstance(padding, ast.Constant) and padding.value in (True, "longest")):
        return None
    if last_part(chain(tokenized.call.func)) in ("encode", "encode_plus", "tokenize"):
        return None
    return fix_of(site, Safety.UNSAFE, lambda edit: edit.set_keyword(site.call, _BATCHED, "True"))
