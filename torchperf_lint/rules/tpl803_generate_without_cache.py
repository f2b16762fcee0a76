"""TPL803."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.fixes.edits import fix_of
from torchperf_lint.facts.models.prefix_again import Recomputed, generated_without_cache, recomputed
from torchperf_lint.model import Confidence, Finding, Safety, Verdict
from torchperf_lint.rule import SourceRule


class GenerateWithoutCache(SourceRule):
    """Text is generated without the cache of keys and values: every new token computes the whole prefix again.

    ## What it does
    Flags `generate(..., use_cache=False)` and `GenerationConfig(use_cache=False)`, and loops that append each new
    token to the tokens which the model is then given whole, and of whose result only the last position is read.
    Models that have no such cache (of the project, or by their name) are left alone.

    ## Why it is slow
    The keys and values of the tokens before do not change. Without the cache each of n steps computes all of them
    again in every layer, so that the work grows with the square of the length; with it a step computes one token.

    ## Example
    ```python
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained("gpt2").to("cuda").eval()

    @torch.inference_mode()
    def complete(ids, count):
        for _ in range(count):
            logits = model(ids).logits[:, -1]
            ids = torch.cat([ids, logits.argmax(-1, keepdim=True)], dim=1)
        return ids
    ```

    ## Use instead
    ```python
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained("gpt2").to("cuda").eval()

    @torch.inference_mode()
    def complete(ids, count):
        return model.generate(ids, max_new_tokens=count, do_sample=False)
    ```
    Or hand `past_key_values` of the result to the next call, with the new token alone.

    ## When it is fine
    A single pass over all tokens needs no cache:
    ```python
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained("gpt2").to("cuda").eval()

    @torch.inference_mode()
    def score(ids):
        logits = model(ids, use_cache=False).logits[:, :-1]
        return torch.log_softmax(logits, -1).gather(-1, ids[:, 1:, None]).sum(1)
    ```

    ## Fix safety
    Unsafe: `use_cache=False` is removed. The cache takes memory, and sums in another order can turn a close choice
    between two tokens. No fix for loops.

    ## Confirmed by
    Nothing yet: no probe times the steps of a decoder.

    ## References
    - Hugging Face, "Caching" and "KV cache strategies" of the documentation of text generation.
    """

    code, name, since = "TPL803", "generate-without-cache", "0.1.0"
    triggers = ("use_cache=False", "use_cache = False", ".cat(", ".concat(", ".hstack(")

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each call that decodes without a cache."""
        del project
        if "use_cache" in file.text:
            for site in generated_without_cache(file):
                yield self._switched_off(file, site)
        for found in recomputed(file):
            yield self._in_loop(file, found)

    def _switched_off(self, file: SourceFile, site: Site) -> Finding:
        return self.found(
            site,
            message=f"`use_cache=False` makes `{file.brief(site.call.func)}` compute the whole prefix again for every "
            "new token",
            instead="remove `use_cache=False`: the cache is on by default",
            hot=site.hot,
            confidence=Confidence.LIKELY,
            fix=fix_of(site, Safety.UNSAFE, lambda edit: edit.drop_argument(site.call, "use_cache")),
        )

    def _in_loop(self, file: SourceFile, found: Recomputed) -> Finding:
        call = file.brief(found.site.call)
        return self.found(
            found.site,
            message=f"`{call}` computes all of `{found.tokens}` again for every new token (the loop at line "
            f"{found.line}), and only the last position of what it gives is read",
            instead="call `generate`, or hand `past_key_values` of each result to the next call, with the new token "
            "alone",
            hot=found.site.hot,
            confidence=found.confidence,
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """No probe times the steps of a decoder."""
        return unmeasured(run, finding.location, "no probe times the steps of a decoder")
