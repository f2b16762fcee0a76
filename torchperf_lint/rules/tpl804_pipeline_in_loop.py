"""TPL804."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.models.one_by_one import OneByOne, one_by_one
from torchperf_lint.model import Finding, Verdict
from torchperf_lint.rule import SourceRule


class PipelineInLoop(SourceRule):
    """A pipeline or an encoder that takes whole lists is called for one element after the other.

    ## What it does
    Flags calls of a `transformers.pipeline`, of `SentenceTransformer.encode` and of `embed_query` of LangChain's
    embeddings in a loop over what is there before it, with the one element of the turn. In files with pipelines that
    write text or listen to audio, whose lengths differ much, and in loops that may stop early, it is only `possible`.

    ## Why it is slow
    Each call puts one element through the model: its kernels are too small for the device, the launches are paid for
    every element, and tokenisation does not overlap with the model. Transformers warns about it: "You seem to be using
    the pipelines sequentially on GPU".

    ## Example
    ```python
    from transformers import pipeline

    classify = pipeline("sentiment-analysis", device=0)

    def label(reviews):
        labels = []
        for review in reviews:
            labels.append(classify(review)[0]["label"])
        return labels
    ```

    ## Use instead
    ```python
    from transformers import pipeline

    classify = pipeline("sentiment-analysis", device=0)

    def label(reviews):
        return [found["label"] for found in classify(reviews, batch_size=32)]
    ```

    ## When it is fine
    One input as it arrives, and batches:
    ```python
    from transformers import pipeline

    classify = pipeline("sentiment-analysis", device=0)

    def label(review):
        return classify(review)[0]["label"]

    def label_all(batches):
        return [found["label"] for batch in batches for found in classify(batch, batch_size=len(batch))]
    ```

    ## Fix safety
    There is no automatic fix: the batch size depends on the memory of the device and on the lengths, and what a
    pipeline gives for a list is nested differently for some tasks.

    ## Confirmed by
    Nothing yet: no probe looks into pipelines.

    ## References
    - Hugging Face, "Pipelines": "Pipeline batching", and the rules of thumb there, also when not to batch.
    - Sentence Transformers documentation of `SentenceTransformer.encode`.
    """

    code, name, since = "TPL804", "pipeline-in-loop", "0.1.0"
    triggers = ("pipeline", "Pipeline", "SentenceTransformer", "SparseEncoder", "embed_query(")
    about_waits = True

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each call that gets one element a turn."""
        del project
        if file.mentions(("transformers", "langchain")):
            for found in one_by_one(file):
                yield self._found(file, found)

    def _found(self, file: SourceFile, found: OneByOne) -> Finding:
        called = file.brief(found.site.call.func)
        together = {
            "pipeline": f"hand all elements over in one call: `{called}(all_of_them, batch_size=32)`; a generator or a "
            "data set will do, too",
            "encode": f"encode all in one call, which sorts them by length and makes batches: `{called}(all_of_them)`",
            "embed_query": "embed all in one call: `embed_documents(all_of_them)`",
        }
        return self.found(
            found.site,
            message=f"`{called}` gets one element a turn, `{found.element}`, {found.hot.when}: batches of one",
            instead=together[found.what],
            hot=found.hot,
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """No probe looks into pipelines."""
        return unmeasured(run, finding.location, "no probe looks into pipelines")
