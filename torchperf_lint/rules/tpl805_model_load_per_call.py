"""TPL805."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.models.loads_in_turns import LoadInTurns, loads_in_turns
from torchperf_lint.facts.models.model_loads import Load, repeated_loads
from torchperf_lint.model import Finding, Severity, Verdict
from torchperf_lint.rule import SourceRule


class ModelLoadPerCall(SourceRule):
    """A model is read from disk for every request, batch or turn of a loop, though it is the same each time.

    ## What it does
    Flags `from_pretrained`, `torch.hub.load`, `transformers.pipeline`, `SentenceTransformer(...)`,
    `load_state_dict(torch.load(...))` and their like in the handler of a web framework, in a `predict` that nothing in
    the project calls, in `forward` and other code that runs every step, and in loops that only call what they load; and
    objects of a class whose constructor loads, `Depth()(image)`, made for each input by a loop, or by a function that
    one calls, and thrown away. What is loaded must not depend on a parameter or on the loop. For tokenizers and
    processors it is reported as info.

    ## Why it is slow
    All weights are read and unpacked, a network of random weights may be built before, and everything is copied to
    the device, before the first input is looked at. The memory of the model before is given back only then.

    ## Example
    ```python
    import torch
    from fastapi import FastAPI
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    app = FastAPI()
    tokenizer = AutoTokenizer.from_pretrained("distilbert-base-uncased")

    @app.post("/classify")
    def classify(text: str):
        model = AutoModelForSequenceClassification.from_pretrained("distilbert-base-uncased").to("cuda").eval()
        with torch.inference_mode():
            logits = model(**tokenizer(text, return_tensors="pt").to("cuda")).logits
        return {"label": logits.argmax(-1).item()}
    ```

    ## Use instead
    ```python
    import torch
    from fastapi import FastAPI
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    app = FastAPI()
    tokenizer = AutoTokenizer.from_pretrained("distilbert-base-uncased")
    model = AutoModelForSequenceClassification.from_pretrained("distilbert-base-uncased").to("cuda").eval()

    @app.post("/classify")
    def classify(text: str):
        with torch.inference_mode():
            logits = model(**tokenizer(text, return_tensors="pt").to("cuda")).logits
        return {"label": logits.argmax(-1).item()}
    ```
    Or in a function under `@functools.lru_cache`, or where the application starts (`lifespan`).

    ## When it is fine
    Once, into a cache, or another model each time:
    ```python
    from functools import lru_cache

    import torch
    from transformers import AutoModel

    @lru_cache(maxsize=1)
    def load():
        return AutoModel.from_pretrained("distilbert-base-uncased").to("cuda").eval()

    def predict(inputs):
        return load()(**inputs)

    def ensemble(checkpoints, inputs):
        outputs = []
        for checkpoint in checkpoints:
            model = AutoModel.from_pretrained(checkpoint).to("cuda").eval()
            outputs.append(model(**inputs))
        return outputs
    ```

    ## Fix safety
    There is no automatic fix: where the model is to be kept, and for how long, only the author knows.

    ## Confirmed by
    Nothing yet: no probe tells the copies of weights from other copies.

    ## References
    - Hugging Face, "Using pipelines for a webserver": the model is loaded once, where the server starts.
    - FastAPI documentation, "Lifespan Events": its example loads a model before the first request.
    """

    code, name, since = "TPL805", "model-load-per-call", "0.1.0"
    triggers = (
        *("from_pretrained(", "torch.load(", "hub.load(", "jit.load(", "load_model(", "clip.load(", "create_model"),
        *("SentenceTransformer(", "CrossEncoder(", "pipeline(", "WhisperModel(", "YOLO(", "get_model("),
    )
    about_waits = True

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each load that is repeated for nothing."""
        del project
        for load in repeated_loads(file):
            yield self._found(file, load)
        for made in loads_in_turns(file):
            yield self._made(file, made)

    def _found(self, file: SourceFile, load: Load) -> Finding:
        reads = "reads all weights" if load.what == "model" else "reads the tokenizer's files"
        return self.found(
            load.site,
            message=f"`{file.brief(load.site.call)}` {reads} from disk again {load.hot.when}, though they are the same "
            "each time",
            instead="load it once, at the start or in a function under `@functools.lru_cache`, and use that "
            f"{load.what} here",
            hot=load.hot,
            severity=Severity.INFO if load.what == "tokenizer" else None,
            root_cause=f"{self.code}: {load.what} in function {load.site.function}",
        )

    def _made(self, file: SourceFile, made: LoadInTurns) -> Finding:
        return self.found(
            made.site,
            message=f"`{file.brief(made.site.call)}` reads all weights from disk again {made.hot.when}, though they "
            "are the same each time",
            instead="make it once, before the loop, and hand it to what uses it",
            hot=made.hot,
            related=[file.related(*made.inside, "reads the weights")] if made.inside else (),
            root_cause=f"{self.code}: made in function {made.site.function}",
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """No probe knows which copies are weights."""
        return unmeasured(run, finding.location, "no probe tells the copies of weights from other copies")
