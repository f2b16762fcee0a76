"""Options that are off by default: rare code, unless hot code passes them."""

from __future__ import annotations

import pytest
from snippets import hot_at

CODE = """
    def loss_of(model, x, y, mask=None):
        out = model(x)
        if mask is not None:
            out = out[mask]  # <-
        return (out - y).mean()

    def train(model, loader, optimizer, mask=None):
        for x, y in loader:
            loss = {call}
            loss.backward()
            optimizer.step()

    def study(model, x, y):
        return loss_of(model, x, y, x > 0)
"""


@pytest.mark.parametrize(
    ("call", "optional"),
    [
        ("loss_of(model, x, y, mask=mask)", True),
        ("loss_of(model, x, y, mask=y > 0)", False),
        ("loss_of(model, x, y, y > 0)", False),
    ],
)
def test_an_option_that_hot_code_passes_is_no_option(call, optional):
    hot = hot_at(CODE.format(call=call))
    assert hot is not None
    assert hot.optional is optional


@pytest.mark.parametrize("call", ["loss_of(model, x, y)", "loss_of(model, x, y, None)"])
def test_an_option_that_only_cold_code_passes_is_off_in_hot_code(call):
    assert hot_at(CODE.format(call=call)) is None


HANDED_THROUGH = """
    def loss_of(model, x, y, smooth=False):
        if smooth:
            y = y.float()  # <-
        return F.mse_loss(model(x), y)

    def scored(model, x, y, smooth=False):
        return loss_of(model, x, y, smooth=smooth)

    def train(model, loader, optimizer, smooth):
        for x, y in loader:
            loss = scored(model, x, y, {given})
            loss.backward()
            optimizer.step()
"""


def test_an_option_is_followed_through_who_hands_it_on():
    hot = hot_at(HANDED_THROUGH.format(given="smooth=smooth"))
    assert hot is not None
    assert not hot.optional
    assert hot_at(HANDED_THROUGH.format(given="smooth=False")) is None


LEFT_OUT = """
def returns(rewards, turns=None):
    if turns is None:
        turns = rewards.max().item()  # <-
    return rewards[:turns]


def train(loader, model, optimizer, counts):
    for batch in loader:
        loss = model(batch)
        loss.backward()
        optimizer.step()
        {call}
"""


@pytest.mark.parametrize(
    ("call", "hot"),
    [
        ("returns(loss)", True),
        ("returns(loss, counts[0])", False),
        ("returns(loss, turns=counts[0])", False),
        ("returns(loss, turns=None)", True),
        ("returns(loss, counts[0]) + returns(loss)", True),
    ],
)
def test_a_branch_for_calls_without_a_parameter_is_cold_where_all_pass_it(call, hot):
    assert (hot_at(LEFT_OUT.format(call=call)) is not None) is hot


WAYS = """
def scaled(x, size=None, method="fast"):
    if method == "fast":
        return x
    elif size is not None:
        pass
    else:
        size = x.max().item()  # <-
    return x / size


def train(loader, model, optimizer, method):
    for batch in loader:
        loss = model(batch)
        loss.backward()
        optimizer.step()
        {call}
"""


@pytest.mark.parametrize(
    ("call", "hot"),
    [
        ("scaled(batch)", False),
        ("scaled(batch, 8, 'slow')", False),
        ("scaled(batch, method='slow')", True),
        ("scaled(batch, method=method)", True),
        ("scaled(batch, size=batch.shape[0], method=method)", False),
        ("scaled(batch, method='fast')", False),
        ("scaled(batch, **method)", True),
        ("scaled(batch); scaled(batch, None, 'slow')", True),
    ],
)
def test_a_way_that_no_call_takes_is_cold(call, hot):
    assert (hot_at(WAYS.format(call=call)) is not None) is hot


HANDED_ON = """
def inner(x, mode="fast"):
    if mode == "fast":
        return x
    return x.max().item()  # <-


def outer(x, mode="fast"):
    return inner(x, mode)


def train(loader, model, optimizer, mode):
    for batch in loader:
        loss = model(batch)
        loss.backward()
        optimizer.step()
        {call}
"""


@pytest.mark.parametrize(
    ("call", "hot"),
    [("outer(batch)", False), ("outer(batch, 'slow')", True), ("outer(batch, mode)", True), ("inner(batch)", False)],
)
def test_what_comes_after_a_way_out_is_another_way(call, hot):
    assert (hot_at(HANDED_ON.format(call=call)) is not None) is hot


def test_a_way_of_a_function_that_its_users_call_is_not_cold():
    code = """
        import torch

        class Net(torch.nn.Module):
            def forward(self, x, mode="fast"):
                if mode == "slow":
                    return x.sum().item()  # <-
                return x

            def other(self, x):
                return self.forward(x)
    """
    assert hot_at(code) is not None


def test_calls_of_cold_code_count_only_where_no_other_does():
    cold = "\n\ndef export_onnx(x):\n    return scaled(x, None, 'slow')\n"
    assert hot_at(WAYS.format(call="scaled(batch)") + cold) is None
    assert hot_at(WAYS.format(call="scaled(batch, method='slow')") + cold) is not None


@pytest.mark.parametrize(("made", "hot"), [("(size, size)", False), ("find(size)", True)])
def test_what_is_given_and_made_a_tuple_is_there_as_before(made, hot):
    code = f"""
        def cropped(x, size=None):
            if not isinstance(size, tuple):
                size = {made}
            if size is None:
                size = x.max().item()  # <-
            return x[:size]

        def train(loader, model, optimizer):
            for batch in loader:
                loss = model(cropped(batch, batch.shape[0]))
                loss.backward()
                optimizer.step()
        """
    assert (hot_at(code) is not None) is hot


KINDS = """
def scaled(x, size):
    if isinstance(size, {cls}):
        size = x.max().item()  # <-
    return x / size


def inner(x, size):
    return scaled(x, size)


def train(loader, model, optimizer, size):
    for batch in loader:
        loss = model(batch)
        part = batch[0].unsqueeze(0)
        mean = loss.item() / 2
        loss.backward()
        optimizer.step()
        {call}
"""


@pytest.mark.parametrize(
    ("cls", "call", "hot"),
    [
        ("tuple", "scaled(batch, part)", False),
        ("tuple", "inner(batch, part)", False),
        ("tuple", "inner(batch, (3, 4))", True),
        ("(list, tuple)", "scaled(batch, [3, 4])", True),
        ("dict", "scaled(batch, [3, 4])", False),
        ("dict", "scaled(batch, size)", True),
        ("Sizes", "scaled(batch, part)", True),
        ("torch.Tensor", "scaled(batch, mean)", False),
        ("torch.Tensor", "scaled(batch, loss.item())", False),
        ("torch.Tensor", "scaled(batch, part)", True),
        ("torch.Tensor", "scaled(batch, batch['size'])", True),
        ("torch.Tensor", "scaled(batch, 4)", False),
        ("(int, float)", "scaled(batch, 4)", True),
    ],
)
def test_a_branch_for_a_kind_that_no_call_gives_is_cold(cls, call, hot):
    assert (hot_at(KINDS.format(cls=cls, call=call)) is not None) is hot


METER = """
import torch


class Meters:
    def note(self, **values):
        for name, v in values.items():
            if isinstance(v, torch.Tensor):
                v = v.item()  # <-
            self.sums[name] += v


def train(loader, model, optimizer, meters: Meters):
    for batch in loader:
        loss = model(batch)
        loss.backward()
        optimizer.step()
        meters.note({given})
"""


@pytest.mark.parametrize(
    ("given", "hot"),
    [
        ("loss=loss.item(), lr=optimizer.param_groups[0]['lr']", False),
        ("loss=loss.item(), norm=loss", True),
        ("loss=loss", True),
        ("**loss", True),
    ],
)
def test_named_values_that_are_all_numbers_are_no_tensors(given, hot):
    assert (hot_at(METER.format(given=given)) is not None) is hot


@pytest.mark.parametrize(("filled", "hot"), [("x.new_ones(3)", False), ("other", True), ("None", True)])
def test_what_the_caller_fills_in_itself_is_not_left_out(filled, hot):
    code = f"""
        import torch

        class Net(torch.nn.Module):
            def forward(self, x, mask=None, other=None):
                if mask is None:
                    mask = {filled}
                return self.embed(x, mask)

            def embed(self, x, mask=None):
                if mask is None:
                    mask = x.max().item()  # <-
                return x * mask
        """
    assert (hot_at(code) is not None) is hot


CHOSEN = """
    class Net(nn.Module):
        def compute_loss(self, y, x):
            return self.instances(x, y{given})

        def instances(self, x, y, mask=None):
            return sum(self.of_one(x[i], {choice}) for i in range(3))

        def of_one(self, x, mask=None):
            if mask is not None:
                n = mask.sum().item()  # <-
            return x.mean()
"""


@pytest.mark.parametrize(
    ("given", "choice", "runs"),
    [
        ("", "mask[i] if mask is not None else None", False),
        ("", "None if mask is None else mask[i]", False),
        ("", "None if y is None else mask[i]", True),
        (", y > 0", "mask[i] if mask is not None else None", True),
        (", self.mask", "mask[i] if mask is not None else None", True),
        ("", "mask[i] if self.masked else None", True),
    ],
)
def test_a_choice_by_an_option_is_what_its_callers_make_of_it(given, choice, runs):
    assert (hot_at(CHOSEN.format(given=given, choice=choice)) is not None) is runs


OPTION = """
    parser.add_argument("--limit", type=float{declared})
    args = parser.parse_args()

    def step(loss, optimizer, limit=None):
        loss.backward()
        if limit is not None:
            print(limit)
        else:
            print(loss)  # <-
        optimizer.step()

    def train(model, loader, optimizer, limit=None):
        for x in loader:
            step(model(x), optimizer, limit=limit)

    def main(model, loader, optimizer):
        train(model, loader, optimizer, limit={given})
"""


@pytest.mark.parametrize(
    ("declared", "given", "runs"),
    [
        (", default=None", "args.limit", True),
        ("", "args.limit", True),
        (", default=1.0", "args.limit", False),
        (", default=None", "args.other", False),
        (", default=None", "1.0", False),
        (", default=None", "None", True),
    ],
)
def test_an_option_of_the_program_that_is_none_by_default(declared, given, runs):
    hot = hot_at(OPTION.format(declared=declared, given=given))
    assert (hot is not None) is runs
