"""Calls of one name that can only be of another class's method, and parameters that are given copies on the host."""

from __future__ import annotations

import pytest
from snippets import value_of

from torchperf_lint.facts.values.value import ANYWHERE, DEVICE, HOST

TWO = """
class Agents:
    def act(self, obs, number, mask, eps, z=None):
        return obs

class Talking:
    {decorator}
    def act({parameters}):
        found = weights.unsqueeze(0)
        return found

    def weights(self, obs):
        out = self.policy.net(obs)
        return {returned}

class Worker:
    def __init__(self, talk: bool, env):
        self.agents = Talking() if talk else Agents()
        self.env = env

    def play(self):
        obs = self.env.reset()
        for i in range(9):
            self.agents.act({alone})

    def talk(self):
        obs = self.env.reset()
        told = self.agents.weights(obs)
        for i in range(9):
            self.agents.act({talked})
"""


def _found(
    parameters="self, weights, mask, eps",
    returned="out.cpu()",
    alone="obs[i], i, 0, 0.1",
    talked="told[i], 0, 0.1",
    decorator="# none",
):
    return value_of(
        TWO.format(parameters=parameters, returned=returned, alone=alone, talked=talked, decorator=decorator), "found"
    )


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"returned": "out.detach().view(3, 4).cpu()"},
        {"returned": "out.cpu().float()"},
        {"talked": "told[i].cpu(), 0, 0.1"},
        {"talked": "told[i], 0, eps=0.1"},
        {"alone": "obs[i], i, 0, 0.1, z=None"},
        {"parameters": "self, weights, mask, eps=0.1"},
        {"decorator": "@torch.no_grad()"},
    ],
)
def test_a_call_with_other_arguments_is_of_another_class(changed):
    value = _found(**changed)
    assert (value.kind, value.device) == ("tensor", HOST)


@pytest.mark.parametrize(
    "changed",
    [
        {"returned": "out"},
        {"alone": "obs[i], 0, 0.1"},
        {"alone": "*obs"},
        {"alone": "obs[i], **self.kept"},
        {"parameters": "self, weights, *rest"},
        {"parameters": "self, weights, mask, eps, *rest"},
        {"alone": "obs[i], i, 0", "talked": "told[i], 0, 0.1); Talking.act(self.agents, obs, 0, 0.1"},
        {"decorator": "@with_defaults"},
    ],
)
def test_what_every_call_may_give_stays_open(changed):
    assert _found(**changed).device == ANYWHERE


HELPERS = """
def copied(x):
    return prepare(x).detach().cpu()

def kept(x):
    return prepare(x).detach()

def asked(x):
    found = x.unsqueeze(0)
    return found

def run(batches):
    for x in batches:
        y = {first}(x)
        asked(y)
        asked({second}(x)[0])
"""


@pytest.mark.parametrize(
    ("first", "second", "device"),
    [("copied", "copied", HOST), ("copied", "kept", ANYWHERE), ("kept", "copied", ANYWHERE)],
)
def test_all_calls_have_to_give_copies(first, second, device):
    assert value_of(HELPERS.format(first=first, second=second), "found").device == device


FAR = """
class Agents:
    def __init__(self, args):
        from policies import Policy
        self.policy = Policy(args)

    def weights(self, obs):
        out, self.policy.hidden = self.policy.rnn(obs, self.policy.hidden)
        return out.reshape(4, -1){copied}

    def act(self, weights, mask):
        found = weights.unsqueeze(0)
        return found

class Worker:
    def __init__(self, env, agents):
        self.env, self.agents = env, agents

    def play(self):
        weights = self.agents.weights(self.env.reset())
        for i in range(4):
            self.agents.act(weights[i], 0)

class Runner:
    def __init__(self, env, args):
        self.agents = Agents(args)
        self.worker = Worker(env, self.agents)
"""


@pytest.mark.parametrize(("copied", "device"), [(".cpu()", HOST), ("", ANYWHERE), (".cuda()", DEVICE)])
def test_a_copy_may_be_several_callers_and_objects_away(copied, device):
    assert value_of(FAR.format(copied=copied), "found").device == device
