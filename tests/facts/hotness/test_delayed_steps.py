"""Blocks on a cadence that step an optimizer: a step of the training, or something rare beside it."""

from __future__ import annotations

import pytest
from snippets import hot_at


def often(test: str, before: str = "", inside: str = "optimizer.step()") -> bool:
    code = f"""
        def train(model, loader, optimizer, scaler, other, args):
            for i, batch in enumerate(loader):
                model(batch).backward()
                {before or "pass"}
                if {test}:
                    {inside}
                    print(model.scale)  # <-
        """
    return hot_at(code) is not None


@pytest.mark.parametrize(
    ("test", "before", "inside", "hot"),
    [
        ("(i + 1) % args.update_freq == 0", "", "optimizer.step()", True),
        ("(i + 1) % args.every == 0 or i + 1 == len(loader)", "", "scaler.step(optimizer)", True),
        ("(i + 1) % args.every == 0", "optimizer.step()", "pass", False),
        ("(i + 1) % args.every == 0", "optimizer.step()", "optimizer_of_codes.step()", False),
        ("(i + 1) % args.every == 0", "if i % 7 == 0: optimizer.step()", "optimizer_of_codes.step()", False),
        ("(i + 1) % args.every == 0", "", "scheduler.step()", False),
        ("i % args.print_freq == 0", "", "optimizer.step()", False),
        ("i % args.save_every == 0", "", "optimizer.step()", False),
        ("i % args.d_reg_every == 0", "", "optimizer.step()", False),
        ("i % args.critic_every == 0", "", "penalty(model).backward(); optimizer.step()", True),
        ("i % args.d_reg_every == 0", "", "penalty(model).backward(); optimizer.step()", False),
    ],
)
def test_a_block_with_all_steps_of_a_loop_is_a_step(test, before, inside, hot):
    assert often(test, before, inside) is hot


@pytest.mark.parametrize(("step", "hot"), [("scaler.step(optimizer)", True), ("print(i)", False)])
def test_what_follows_a_continue_is_a_step_where_the_optimizer_takes_one(step, hot):
    code = f"""
        def train(model, loader, optimizer, scaler, args):
            for i, batch in enumerate(loader):
                model(batch).backward()
                if (i + 1) % args.update_freq != 0:
                    continue
                {step}
                print(model.scale)  # <-
        """
    assert (hot_at(code) is not None) is hot


def test_a_cadence_inside_the_step_keeps_its_block_rare():
    code = """
        def train(model, loader, optimizer, args):
            for i, batch in enumerate(loader):
                model(batch).backward()
                if (i + 1) % args.update_freq == 0:
                    optimizer.step()
                    if i % args.print_freq == 0:
                        print(model.scale)  # <-
        """
    assert hot_at(code) is None
