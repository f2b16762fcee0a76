"""Functions that guide a diffusion: samplers are given them and call them in every step, by their names.

def cond_fn(x, t, y=None):
    with torch.enable_grad():
        ...
        return torch.autograd.grad(selected.sum(), x)[0] * scale
"""

from __future__ import annotations

from torchperf_lint.facts.outlines.records import Function
from torchperf_lint.facts.roles.role import Role
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_GUIDES = pattern(r"(?:^|_)(?:cond|guidance|guide|denoised|denoiser|score)_f(?:n|unc)$")
_SAMPLE = pattern(r"^(?:x|x_?t|x_in|xt|z|z_?t|sample|latents?|noisy\w*)$")
_TIME = pattern(r"^(?:t|ts|timesteps?|sigmas?|time|step|noise_level|log_snr)$")
_ROLE = Role("rollout", "guides a sampler, which calls it in every step", "in every denoising step", Confidence.LIKELY)


def guiding_role(function: Function) -> Role | None:
    """The role of a function that is given a noisy sample and its time, and is called after what it does; or None."""
    own = [p.name for p in function.parameters[function.bound : function.bound + 2]]
    told = len(own) == 2 and _SAMPLE.match(own[0]) and _TIME.match(own[1])
    return _ROLE if told and _GUIDES.search(function.name) else None
