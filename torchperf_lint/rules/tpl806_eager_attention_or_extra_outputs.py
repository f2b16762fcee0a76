"""TPL806."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.files.switches import asked_for
from torchperf_lint.facts.fixes.edits import fix_of
from torchperf_lint.facts.models.unread_outputs import ATTENTIONS, Unread, unread_outputs, written_out_attention
from torchperf_lint.facts.models.unread_scores import SCORES, UnreadScores, unread_scores
from torchperf_lint.facts.processes.process_flags import explained
from torchperf_lint.model import Confidence, Finding, Safety, Severity, Verdict
from torchperf_lint.rule import SourceRule


class EagerAttentionOrExtraOutputs(SourceRule):
    """A transformer computes attention weights or keeps hidden states that nobody reads.

    ## What it does
    Flags `output_attentions=True` and `output_hidden_states=True` in calls that run every step, where all that is read
    of the result is something else (`.loss`, `.logits`, `[0]`); hidden states alone are reported as information, and
    so is `output_scores=True` beside `return_dict_in_generate=True`, given to `generate` or in its settings, where only
    the tokens are read. Also flags `from_pretrained(..., attn_implementation="eager")` of transformers in files that
    say nothing of attention weights, hooks, exports or models that need it; with a comment that says why it is only
    `possible`.

    ## Why it is slow
    Fused attention kernels never hold the weights, a matrix of length by length for each head and layer: a model that
    is asked for them, or told to be eager, computes scores, softmax and product one after another and writes that
    matrix to memory. Hidden states of all layers stay in memory as long as the output does. Scores of `generate` are
    a float for each word of the vocabulary, kept for each token and beam until the last token is there.

    ## Example
    ```python
    import torch
    from transformers import AutoModelForSequenceClassification

    model = AutoModelForSequenceClassification.from_pretrained("roberta-base").to("cuda")

    def train(loader, optimizer):
        for batch in loader:
            out = model(**batch, output_attentions=True)
            optimizer.zero_grad()
            out.loss.backward()
            optimizer.step()
    ```

    ## Use instead
    ```python
    import torch
    from transformers import AutoModelForSequenceClassification

    model = AutoModelForSequenceClassification.from_pretrained("roberta-base").to("cuda")

    def train(loader, optimizer):
        for batch in loader:
            out = model(**batch)
            optimizer.zero_grad()
            out.loss.backward()
            optimizer.step()
    ```

    ## When it is fine
    Where they are read:
    ```python
    import torch
    from transformers import AutoModel

    model = AutoModel.from_pretrained("roberta-base").to("cuda")

    @torch.inference_mode()
    def embed(loader):
        for batch in loader:
            out = model(**batch, output_hidden_states=True)
            yield torch.stack(out.hidden_states[-4:]).mean(0)
    ```

    ## Fix safety
    Unsafe: the argument is removed. Fused kernels round differently, and a subclass that reads the weights inside gets
    None.

    ## Confirmed by
    Nothing yet: no probe watches which kernels a module runs.

    ## References
    - Hugging Face, "Attention interfaces" and "GPU inference", scaled dot product attention.
    - PyTorch documentation of `torch.nn.functional.scaled_dot_product_attention`.
    """

    code, name, since = "TPL806", "eager-attention-or-extra-outputs", "0.1.0"
    triggers = ("output_attentions=", "output_hidden_states=", "attn_implementation=", "output_attentions =", SCORES)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each call that asks for what nobody reads."""
        del project
        if file.mentions(("output_attentions", "output_hidden_states")):
            for unread in unread_outputs(file):
                yield self._unread(file, unread)
        if file.mentions(('"eager"', "'eager'")):
            for site in written_out_attention(file):
                if not asked_for(file, site.call, site.function):
                    yield self._eager(file, site)
        for scores in unread_scores(file):
            yield self._scores(file, scores)

    def _unread(self, file: SourceFile, unread: Unread) -> Finding:
        site, hot = unread.site, unread.site.hot
        assert hot is not None
        weights = ATTENTIONS in unread.asked
        mild = not weights or hot.optional or hot.kind == "eval"
        asked = ", ".join(f"`{name}=True`" for name in unread.asked)
        effect = "its attention cannot run in one fused kernel" if weights else "those of all layers stay in memory"
        return self.found(
            site,
            message=f"`{file.brief(site.call.func)}` is asked for {asked} {hot.when}, and all that is read of the "
            f"result is {unread.read}: {effect}",
            instead=f"leave {asked} out",
            hot=hot,
            severity=Severity.INFO if mild else None,
            confidence=Confidence.POSSIBLE if hot.optional else Confidence.LIKELY,
            fix=fix_of(site, Safety.UNSAFE, lambda edit: edit.drop_argument(site.call, unread.asked[0])),
        )

    def _scores(self, file: SourceFile, unread: UnreadScores) -> Finding:
        place, named = unread.place, f"{SCORES}=True"
        asked = f"`{file.brief(place.call.func)}` is" if isinstance(place, Site) else "what generates is"
        return self.found(
            place,
            message=f"{asked} asked for `{named}`, and {unread.read}: logits over the whole vocabulary are kept for "
            "each token",
            instead=f"leave `{named}` out",
            severity=Severity.INFO,
            confidence=Confidence.LIKELY,
            fix=fix_of(place, Safety.UNSAFE, lambda edit: edit.drop_argument(place.call, SCORES))
            if isinstance(place, Site)
            else None,
        )

    def _eager(self, file: SourceFile, site: Site) -> Finding:
        return self.found(
            site,
            message='`attn_implementation="eager"` writes the attention weights of each layer to memory, and nothing '
            "in this file reads them",
            instead='leave it out, which takes fused kernels where the model has them, or write `"sdpa"`',
            confidence=Confidence.POSSIBLE if explained(file, site.call) else Confidence.LIKELY,
            fix=fix_of(site, Safety.UNSAFE, lambda edit: edit.drop_argument(site.call, "attn_implementation")),
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """No probe watches which kernels a module runs."""
        return unmeasured(run, finding.location, "no probe watches which kernels a module runs")
