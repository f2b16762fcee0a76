"""TPL808."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.files.switches import asked_for, reached
from torchperf_lint.facts.fixes.edits import fix_of
from torchperf_lint.facts.processes.framework_runs import is_trial_file
from torchperf_lint.facts.processes.process_flags import explained
from torchperf_lint.model import Confidence, Finding, Safety, Verdict
from torchperf_lint.rule import SourceRule

_SLICING = "enable_attention_slicing"
_OFFLOAD = "enable_sequential_cpu_offload"
_OTHER_DEVICES = ("mps", "directml", "openvino")
_SHORT_OF_MEMORY = ("vram", "low_mem", "lowmem", "low-mem", "less memory", "save memory", "out of memory", "offload")


class DiffusersMemorySaversLeftOn(SourceRule):
    """A pipeline of diffusers that saves memory which nobody needs.

    ## What it does
    Flags `enable_attention_slicing()` of a diffusers pipeline where no flag decides about it: since PyTorch 2 the
    attention of diffusers needs no slices. `enable_sequential_cpu_offload()` is only `possible`, as nobody but the
    user knows how large the device is; so is slicing in a file for Apple's devices or that speaks of scarce memory.

    ## Why it is slow
    Slicing computes attention head by head, in a loop, in place of one fused kernel that needs less memory than the
    loop does; diffusers warns of serious slow downs. Sequential offloading copies each small module to the device
    when it is called and back afterwards, in every denoising step.

    ## Example
    ```python
    import torch
    from diffusers import StableDiffusionPipeline

    pipe = StableDiffusionPipeline.from_pretrained("stable", torch_dtype=torch.float16).to("cuda")
    pipe.enable_attention_slicing()
    image = pipe("an astronaut").images[0]
    ```

    ## Use instead
    ```python
    import torch
    from diffusers import StableDiffusionPipeline

    pipe = StableDiffusionPipeline.from_pretrained("stable", torch_dtype=torch.float16).to("cuda")
    image = pipe("an astronaut").images[0]
    ```
    Where the whole pipeline is too large, `pipe.enable_model_cpu_offload()` moves whole models and costs little.

    ## When it is fine
    Behind a flag, for devices that are too small otherwise, and on Apple's devices:
    ```python
    import torch
    from diffusers import StableDiffusionPipeline

    def load(args):
        pipe = StableDiffusionPipeline.from_pretrained(args.model, torch_dtype=torch.float16)
        if args.low_vram:
            pipe.enable_attention_slicing()
        return pipe.to(args.device)
    ```

    ## Fix safety
    Unsafe: the call of `enable_attention_slicing` is removed. A pipeline whose attention processors were replaced by
    ones without `scaled_dot_product_attention` then needs more memory. None for offloading.

    ## Confirmed by
    Nothing: no probe looks into pipelines. That the line did not run is reported.

    ## References
    - diffusers documentation, "Reduce memory usage" and `enable_attention_slicing`: do not enable it together with
      SDPA or xFormers, "serious slow downs"; sequential offloading is "extremely slow".
    """

    code, name, since = "TPL808", "diffusers-memory-savers-left-on", "0.1.0"
    triggers = (_SLICING, _OFFLOAD)
    about_waits = True

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each memory saver that no flag decides about."""
        if not file.mentions(("diffusers",)) or is_trial_file(file.path):
            return
        known = frozenset({_SLICING, _OFFLOAD})
        records = [call for call in file.outline.calls if call.callee.rpartition(".")[2] in known]
        for site in file.calls_among(records):
            slices = site.record.callee.endswith(_SLICING)
            if site.receiver is None or site.record.callee.startswith(("self.enable", "super()")):
                continue  # inside the library itself
            if file.outline.functions[site.function].name.startswith("enable_"):
                continue  # handed on: its caller asks for it
            if asked_for(file, site.call, site.function) or (slices and project.must_run_before(2, 0)):
                continue
            yield self._slicing(site) if slices else self._offload(site)

    def _slicing(self, site: Site) -> Finding:
        file, lowered = site.file, site.file.text.lower()
        sure = reached(file, site.function) and not explained(file, site.call)
        scarce = any(word in lowered for word in (*_OTHER_DEVICES, *_SHORT_OF_MEMORY))
        return self.found(
            site,
            message=f"`{file.brief(site.call)}` computes attention slice by slice in place of one fused kernel, which "
            "needs no more memory",
            instead="remove it: diffusers uses `scaled_dot_product_attention` since PyTorch 2",
            confidence=Confidence.LIKELY if sure and not scarce else Confidence.POSSIBLE,
            fix=fix_of(site, Safety.UNSAFE, lambda edit: edit.drop_statement(edit.statement(site.call))),
        )

    def _offload(self, site: Site) -> Finding:
        return self.found(
            site,
            message=f"`{site.file.brief(site.call)}` copies every module to the device and back, in each step",
            instead='`pipe.to("cuda")` where it fits, else `pipe.enable_model_cpu_offload()`, which moves whole models',
            confidence=Confidence.POSSIBLE,
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """No probe looks into pipelines."""
        return unmeasured(run, finding.location, "no probe looks into pipelines")
