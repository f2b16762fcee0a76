"""Loops that gather experience before they learn from it turn once a rollout."""

from __future__ import annotations

import pytest
from snippets import hot_at

LOOP = """
def learn(agent, envs, optimizer, updates, horizon):
    state = envs.reset()
    for update in range(updates):
        {gathers}
        loss = agent.loss(state)
        loss.backward()
        optimizer.step()
        print(loss)  # <-
"""


@pytest.mark.parametrize(
    ("gathers", "hot"),
    [
        ("for t in range(horizon):\n            state = envs.step(agent.act(state))", False),
        ("buffer = agent.collect_rollouts(envs, horizon)", False),
        ("agent.rollout(envs)", False),
        ("state = envs.step(agent.act(state))", True),
        ("state = agent.buffer.sample()", True),
    ],
)
def test_an_update_of_a_whole_rollout_is_no_step(gathers, hot):
    assert (hot_at(LOOP.format(gathers=gathers)) is not None) is hot


def test_minibatches_inside_are_steps():
    code = """
        def learn(agent, envs, optimizer, updates):
            for update in range(updates):
                rollout = agent.collect_rollout(envs)
                for batch in rollout.batches():
                    loss = agent.loss(batch)
                    loss.backward()
                    optimizer.step()
                    print(loss)  # <-
        """
    assert hot_at(code) is not None


@pytest.mark.parametrize(
    ("shown", "hot"),
    [
        ("torchvision.utils.save_image(image, f'{i}.png')", False),
        ("[Image.fromarray(one).save(f'{i}.png') for one in image]", False),
        ("out.append(image)", True),
    ],
)
def test_loops_that_write_one_picture_each_are_for_people(shown, hot):
    code = f"""
        class Sampler(nn.Module):
            @torch.no_grad()
            def pictures(self, model: nn.Module, n):
                for i in range(n):
                    z = torch.randn(1, 8).cuda()  # <-
                    image = model(z)
                    {shown}
        """
    assert (hot_at(code) is not None) is hot


@pytest.mark.parametrize(("loop", "hot"), [("for batch in loader:", False), ("for _ in range(self.n_critic):", True)])
def test_a_step_beside_a_loop_over_batches_is_one_for_all_of_them(loop, hot):
    code = f"""
        class Agent:
            def update(self, loader, costs):
                {loop}
                    self.loss(loader).backward()
                    self.optimizer.step()
                penalty = -self.multiplier * costs
                penalty.backward()
                self.optimizer.step()
                self.log(penalty)  # <-
        """
    assert (hot_at(code) is not None) is hot


@pytest.mark.parametrize(
    ("base", "hot"),
    [
        ("for batch in DataLoader(self.data):\n                    self.step(self.loss(batch))", False),
        ("self.step(self.loss(self.data))", True),
    ],
)
def test_a_method_that_runs_an_update_of_many_steps_is_no_step(base, hot):
    code = f"""
        from torch.utils.data import DataLoader

        class Policy:
            def step(self, loss):
                loss.backward()
                self.optimizer.step()

            def update(self):
                {base}

        class Constrained(Policy):
            def update(self):
                super().update()
                self.step(self.multiplier_loss())
                print(self.multiplier.item())  # <-
        """
    assert (hot_at(code) is not None) is hot


@pytest.mark.parametrize(
    ("inside", "after", "hot"),
    [("", "self.opt.step()", True), ("self.opt.step()", "", False), ("self.opt.step()", "self.d_opt.step()", False)],
)
def test_a_loop_that_gathers_gradients_is_part_of_a_step(inside, after, hot):
    code = f"""
        class Trainer:
            def train(self):
                total = 0
                for batch in contexts(self.every):
                    loss = self.model(batch)
                    loss.backward()
                    {inside or "total += loss"}
                self.clip(self.generator_loss()).backward()
                print(total.item())  # <-
                {after or "pass"}
        """
    assert (hot_at(code) is not None) is hot


@pytest.mark.parametrize(
    ("name", "steps", "hot"), [("get_grad", False, False), ("get_grad", True, True), ("fit_one", False, True)]
)
def test_who_asks_for_gradients_trains_nothing(name, steps, hot):
    code = f"""
        class Wrapper:
            def {name}(self, text):
                loss = self.loss(self.model(text))
                loss.backward()
                {"self.optimizer.step()" if steps else "pass"}
                return self.hooked[0].cpu()  # <-

        def attack(wrapper, texts):
            return wrapper.{name}(texts)
        """
    assert (hot_at(code) is not None) is hot


NATURAL = """
class Natural:
    def update(self, data):
        {first}
        for batch in DataLoader(data):
            self.critic_optimizer.zero_grad()
            self.critic_loss(batch).backward()
            self.critic_optimizer.step()
            {inside}

    def update_actor(self, data):
        loss = self.actor_loss(data)
        loss.backward()
        self.actor_optimizer.step()
        print(loss)  # <-
"""


@pytest.mark.parametrize(
    ("first", "inside", "hot"),
    [
        ("self.update_actor(data)", "pass", False),
        ("pass", "self.update_actor(batch)", True),
        ("pass", "pass", True),
    ],
)
def test_a_step_of_all_data_beside_the_loop_of_batches_is_no_training_step(first, inside, hot):
    assert (hot_at(NATURAL.format(first=first, inside=inside)) is not None) is hot


@pytest.mark.parametrize(("name", "hot"), [("check_blocks", False), ("update_blocks", True)])
def test_who_checks_that_two_versions_agree_trains_nothing(name, hot):
    code = f"""
        def {name}(one, other, x):
            y = one(x)
            y.sum().backward()
            print(y)  # <-
        """
    assert (hot_at(code) is not None) is hot


@pytest.mark.parametrize(("name", "hot"), [("log_images", False), ("decode_images", True)])
def test_image_loggers_run_once_in_a_while(name, hot):
    code = f"""
        class Engine(nn.Module):
            def forward(self, x):
                return x

            def {name}(self, batch: torch.Tensor) -> torch.Tensor:
                out = self(batch)
                return out + torch.zeros(3).to(batch.device)  # <-
        """
    assert (hot_at(code) is not None) is hot


@pytest.mark.parametrize(("base", "hot"), [("SchedulerMixin", False), ("VisionTransformer", True)])
def test_mixins_make_no_passes(base, hot):
    code = f"""
        from timm.models.vision_transformer import {base}
        from torch import Tensor

        class Own({base}):
            def _pos_embed(self, x: Tensor) -> Tensor:
                print(x)  # <-
                return x
        """
    assert (hot_at(code) is not None) is hot


@pytest.mark.parametrize(("test", "hot"), [("step % 100 == 0", True), ("step", False)])
def test_samples_that_are_made_now_and_then_are_no_rollout(test, hot):
    code = f"""
    def train(model, loader, optimizer):
        for step, batch in enumerate(loader):
            loss = model(batch)
            loss.backward()
            optimizer.step()
            print(loss)  # <-
            if {test}:
                generate_samples(model)
    """
    found = hot_at(code)
    assert (found is not None and found.kind == "step") is hot
