"""Loops over the generations of a population of tensors: what they repeat runs as often as they turn."""

from __future__ import annotations

import pytest
from snippets import hot_at

SEARCH = """
import torch

class Search:
    def cross(self, population, rate):
        mask = torch.rand(population.shape, device=population.device) < rate
        return torch.where(mask, population.roll(1, 0), population)

    def run(self, evaluate, population, max_generation):
        fitness = evaluate(population)
        {head}
            children = self.cross(population, 0.5)
            scores = evaluate(children)
            {more}
            best = scores.min().item()  # <-
        return population
"""


@pytest.mark.parametrize(
    "head",
    [
        "for generation in range(max_generation):",
        "for _generation in tqdm(range(100)):",
        "for gen in trange(self.n_generations):",
        "for gen_idx in range(1, self.generations + 1):",
    ],
)
def test_a_loop_over_generations_is_hot(head):
    hot = hot_at(SEARCH.format(head=head, more="pass"))
    assert hot is not None
    assert hot.kind == "rollout"
    assert hot.when.startswith("every generation")


def test_so_is_what_a_generation_calls():
    text = SEARCH.format(head="for generation in range(max_generation):", more="pass").replace("  # <-", "")
    text = text.replace("        return torch.where", "        pass  # <-\n        return torch.where")
    assert hot_at(text) is not None


@pytest.mark.parametrize(
    ("head", "more"),
    [
        ("for individual in range(max_generation):", "pass"),
        ("for gen in range(4):", "pass"),
        ("for gen_idx in range(max_gen_tokens):", "pass"),
        ("for generation in outputs:", "pass"),
        ("for generation in range(max_generation):", "self.train(children)"),
        ("for generation in range(max_generation):", "play_episode(children)"),
        ("for gen in range(n):", "for x in DataLoader(data):\n                torch.relu(x)"),
    ],
)
def test_few_turns_texts_and_whole_trainings_are_none(head, more):
    assert hot_at(SEARCH.format(head=head, more=more)) is None


def test_a_population_of_the_host_s_is_none():
    text = SEARCH.format(head="for generation in range(max_generation):", more="pass")
    assert hot_at(text.replace("torch.rand(", "np.random.rand(").replace("torch.where(", "np.where(")) is None
