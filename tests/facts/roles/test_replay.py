"""Loops that draw from a replay buffer, and train by the name of what they call."""

from __future__ import annotations

import pytest
from snippets import marked, texts

from torchperf_lint.facts.files.project import Project

CODE = """
    def run(config, env):
        {buffer} = make_buffer(config)
        {agent} = config.build(env)
        for t in range(config.max_steps):
            {draw}
            {train}
            mark()  # <-
"""


def is_hot(draw, train, buffer="replay_buffer", agent="agent"):
    files = texts(CODE.format(draw=draw, train=train, buffer=buffer, agent=agent))
    path, place = marked(files)
    return Project.of_texts(files).hotness.at(path, place) is not None


@pytest.mark.parametrize(
    ("draw", "train"),
    [
        ("batch = replay_buffer.sample(256)", "agent.train(batch)"),
        ("batch = self.memory.sample_batch(256)", "log = self.agent.update(*batch)"),
        ("obs, action = rb.sample(32)", "policy.learn_batch(obs, action)"),
        ("batch = replay_buffer.random_batch(32)", "trainer.train_step(batch)"),
    ],
)
def test_what_trains_is_told_by_its_name(draw, train):
    assert is_hot(draw, train)


@pytest.mark.parametrize(
    ("draw", "train"),
    [
        ("batch = env.action_space.sample()", "agent.update(batch)"),
        ("batch = replay_buffer.sample(256)", "agent.act(batch)"),
        ("agent.update(0)", "batch = replay_buffer.sample(256)"),
        ("batch = replay_buffer.sample(256)", "progress.update(1)"),
        ("batch = replay_buffer.sample(256)", "policy.train()"),
        ("batch = replay_buffer.sample(256); agent.eval()", "agent.train()"),
    ],
)
def test_other_loops_are_not_hot(draw, train):
    assert not is_hot(draw, train)
