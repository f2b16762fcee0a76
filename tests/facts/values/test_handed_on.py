"""What is handed from function to function on its way."""

from __future__ import annotations

import pytest
from snippets import value_of

from torchperf_lint.facts.call_graph.passed import in_short
from torchperf_lint.facts.values.value import DEVICE, HOST

LINE = """
    def start():
        rows = torch.zeros(3, device="cuda")
        return first(rows)

    def first(a):
        {between}
        return second(a, 1)

    def second(b, n):
        return third(n, b)

    def third(n, c):
        return fourth(c)

    def fourth(d):
        return d + 1
"""


def test_what_is_only_handed_on_is_known_however_long_the_line():
    assert value_of(LINE.format(between="pass"), "d + 1").device == DEVICE


def test_what_is_computed_on_the_way_is_known_as_well():
    code = LINE.format(between="pass").replace("second(a, 1)", "second(a * 2, 1)").replace("(n, b)", "(n, -b)")
    assert value_of(code, "d + 1").device == DEVICE


def test_of_a_long_line_the_reason_tells_the_nearest_and_the_last():
    because = value_of(LINE.format(between="pass"), "d").because
    assert because.count("passed by the call") <= 4
    steps = "\n".join(f"def f{n}(x):\n    return f{n + 1}(x * 2)\n" for n in range(9))
    code = f"def start():\n    f0(torch.zeros(3, device='cuda'))\n\n{steps}\ndef f9(y):\n    return y + 1\n"
    because = value_of(code, "y").because
    assert because.count(": ") == 5
    assert because.endswith("made by `torch.zeros`")


@pytest.mark.parametrize(
    ("because", "short"),
    [
        ("made by `torch.zeros`", "made by `torch.zeros`"),
        ("a: b: c: d: e: f", "a: b: c: d: e: f"),
        ("a: b: c: d: e: f: g", "a: b: …: e: f: g"),
        ("a: passed by the call at x: c: passed by the call at y: e: f: g", "a: passed by the call at x: …: e: f: g"),
        ("a: b: passed by the call at x: d: e: f: g", "a: b: passed by the calls between: e: f: g"),
    ],
)
def test_a_reason_in_short_says_whether_it_was_passed(because, short):
    assert in_short(because) == short


def test_a_parameter_that_is_bound_anew_is_not_the_one_handed_on():
    code = LINE.format(between="a = open('x').read(); a = foo(a)")
    assert value_of(code, "d + 1").device != DEVICE


@pytest.mark.parametrize("again", ["first(a)", "second(b, 0)"])
def test_a_line_that_comes_back_ends(again):
    code = f"""
        def first(a):
            return second(a)

        def second(b):
            return {again.replace("(a)", "(b)")} if b.any() else b + 1

        second(torch.ones(3))
    """
    assert value_of(code, "b + 1").kind == "tensor"


def test_of_a_batch_on_the_device_what_is_done_with_it_says_more():
    code = """
        import pytorch_lightning as pl

        class Lit(pl.LightningModule):
            def training_step(self, batch, index):
                return self.loss(batch)

            def loss(self, parts):
                return self.weighted(parts)

            def weighted(self, parts):
                return self.mean(parts)

            def mean(self, parts):
                return parts.softmax(1)
    """
    assert value_of(code, "parts").kind == "tensor"


def test_a_dict_whose_entries_are_made_anew_is_not_the_one_that_was_given():
    code = """
        def prepared(obs):
            obs = {k: torch.tensor(v, device="cuda") for k, v in obs.items()}
            obs["cont"] = 1.0 - obs["first"]
            return obs

        def act():
            obs = {"first": np.zeros(3), "image": np.zeros(3)}
            return step(obs)

        def step(obs):
            obs = prepared(obs)
            return obs["image"]
    """
    assert value_of(code, 'obs["image"]').kind == "tensor"


MATCHED = {
    "a.py": """
        class Matcher(nn.Module):
            def __init__(self):
                super().__init__()
                self.cost = 1

            def forward(self, scores):
                costs = scores.cpu().numpy()
                return [(torch.as_tensor(np.argmin(c, 0)), torch.as_tensor(np.argmin(c, 1))) for c in costs]
    """,
    "b.py": """
        from a import Matcher

        class Criterion(nn.Module):
            def __init__(self, matcher):
                super().__init__()
                self.matcher = matcher

            def loss(self, scores, pairs):
                return self.rows_of(pairs), torch.cat([j for _, j in pairs])

            def rows_of(self, pairs):
                return torch.cat([i for i, _ in pairs])

            def get_loss(self, kind, scores, pairs):
                losses = {"labels": self.loss}
                return losses[kind](scores, pairs)

            def forward(self, scores: torch.Tensor):
                pairs = self.matcher(scores)
                return self.get_loss("labels", scores, pairs)

        def build():
            matcher = Matcher()
            return Criterion(matcher)
    """,
}


@pytest.mark.parametrize("expression", ["self.rows_of(pairs)", "torch.cat([j for _, j in pairs])"])
def test_what_a_module_gives_that_a_constructor_was_given_is_known_by_its_class(expression):
    value = value_of(MATCHED, expression)
    assert (value.kind, value.device) == ("tensor", HOST)
