"""Timesteps of diffusion schedulers: on the device where `set_timesteps` was given one."""

from __future__ import annotations

import pytest
from snippets import hot_at, value_of

from torchperf_lint.facts.values.value import ANYWHERE, DEVICE, HOST

CODE = """
def sample(pipe, scheduler, unet, latents, n, device, options):
    {}
    for i, t in enumerate({}):
        latents = step(latents, t)
    return latents
"""
HELPER = """
def retrieve_timesteps(scheduler, num_inference_steps=None, device=None, timesteps=None, **kwargs):
    scheduler.set_timesteps(num_inference_steps, device=device, **kwargs)
    return scheduler.timesteps, num_inference_steps

"""
STEPS = [
    ("scheduler.set_timesteps(n, device=device)", "scheduler.timesteps", DEVICE),
    ("scheduler.set_timesteps(n, device)", "scheduler.timesteps", DEVICE),
    ("scheduler.set_timesteps(n, device='cuda')", "scheduler.timesteps[2:]", DEVICE),
    ("pipe.scheduler.set_timesteps(n, device=latents.device)", "pipe.progress_bar(pipe.scheduler.timesteps)", DEVICE),
    ("timesteps, n = retrieve_timesteps(scheduler, n, device)", "timesteps", DEVICE),
    ("timesteps, n = retrieve_timesteps(scheduler, n, device=device)", "timesteps[1:]", DEVICE),
    ("timesteps, n = retrieve_timesteps(scheduler, n)", "timesteps", HOST),
    ("retrieve_timesteps(scheduler, n, device)", "scheduler.timesteps", DEVICE),
    ("scheduler.set_timesteps(n)", "scheduler.timesteps", HOST),
    ("scheduler.set_timesteps(n, device='cpu')", "scheduler.timesteps", HOST),
    ("scheduler.set_timesteps(n, device=None)", "scheduler.timesteps", HOST),
    ("scheduler.set_timesteps(n, **options)", "scheduler.timesteps", ANYWHERE),
]


@pytest.mark.parametrize(("made", "iterated", "device"), STEPS)
def test_each_timestep_is_where_the_schedule_was_put(made, iterated, device):
    value = value_of(HELPER + CODE.format(made, iterated), "t")
    assert (value.kind, value.device) == ("tensor", device)


@pytest.mark.parametrize("made", ["other.set_timesteps(n, device=device)", "scheduler.set_sigmas(n, device=device)"])
def test_nothing_is_known_of_a_schedule_that_was_not_set_in_the_file(made):
    assert value_of(CODE.format(made, "scheduler.timesteps"), "t").kind == "unknown"


def test_a_class_of_the_project_may_keep_an_array():
    code = """
    class Schedule:
        def set_timesteps(self, n, device=None):
            self.timesteps = np.arange(n)

    def sample(n, device):
        schedule = Schedule()
        schedule.set_timesteps(n, device=device)
        for t in schedule.timesteps:
            print(t)
    """
    assert value_of(code, "t").kind == "array"


LOOP = """
def sample(unet, scheduler, lr_scheduler, x, epochs, timesteps):
    for t in {}:
        with torch.no_grad():
            noise = unet(x, t)
        x = {}(noise, t, x).prev_sample  # <-
    return x
"""


@pytest.mark.parametrize(
    ("iterated", "stepped", "hot"),
    [
        ("scheduler.timesteps", "scheduler.step", True),
        ("tqdm(timesteps[1:])", "self.scheduler.step", True),
        ("range(epochs)", "scheduler.step", False),
        ("timesteps", "lr_scheduler.step", False),
    ],
)
def test_a_loop_that_steps_a_scheduler_over_its_timesteps_is_hot(iterated, stepped, hot):
    found = hot_at(LOOP.format(iterated, stepped))
    assert (found is not None and found.kind == "rollout") is hot


@pytest.mark.parametrize(
    ("base", "signature", "hot"),
    [
        ("ModularPipelineBlocks", "components, block_state, i, t", True),
        ("ModularPipelineBlocks", "components, state", False),
        ("Blocks", "components, block_state, i, t", False),
    ],
)
def test_a_block_of_a_modular_denoising_loop_is_hot(base, signature, hot):
    code = f"""
    from diffusers.modular_pipelines import {base}

    class Prepare({base}):
        def __call__(self, {signature}):
            return components  # <-
    """
    assert (hot_at(code) is not None) is hot
