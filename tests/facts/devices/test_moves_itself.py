"""What a name is where it is moved to the device and bound to that again, in a loop that may not bind it anew."""

import pytest
from snippets import value_of

from torchperf_lint.facts.values.value import HOST

LOOP = """
def train(model, data, kind, device, steps):
    batches = iter(DataLoader(data, num_workers=4))
    shown, labels = next(batches)
    for step in range(steps):
        x, y = next(batches)
{choice}
        labels = labels.to(device)
        model(x, labels).backward()
"""
FACES = 'if kind == "faces":\n    labels = y.clone()'


def is_on_host(choice):
    """Whether what the loop moves is on the host, however the turn before left it."""
    code = LOOP.format(choice="\n".join(f"        {line}" for line in choice.splitlines()))
    return value_of(code[: code.index("        model(")], "labels").device == HOST


@pytest.mark.parametrize(
    "choice",
    [
        FACES + '\nelif kind == "words":\n    labels = torch.zeros(3, 4)',
        FACES + '\nelif kind == "words":\n    labels = y[:3]\nelif kind == "both":\n    labels = y + 1',
        FACES + '\n    labels = labels + 1\nelif kind == "words":\n    labels = y[:3]',
        FACES + "\nelse:\n    labels = y",
    ],
)
def test_each_branch_of_a_choice_by_text_binds_it_anew(choice):
    assert is_on_host(choice)


@pytest.mark.parametrize(
    "choice",
    [
        "pass",
        FACES,  # one of the ways to run it
        FACES + '\nelif kind == "words":\n    x = x + 1',  # one of two
        FACES + '\nelif device == "cuda":\n    labels = y[:3]',  # two things that may both be otherwise
        FACES + '\nelif kind != "words":\n    labels = y[:3]',
        "if step == 0:\n    labels = y.clone()\nelif step == 100:\n    labels = y[:3]",  # the others keep it
        "if step % 100 == 0:\n    labels = y.clone()",
        FACES + '\nif kind == "words":\n    labels = y[:3]',  # two choices
    ],
)
def test_what_some_turns_keep_may_be_what_the_turn_before_has_moved(choice):
    assert not is_on_host(choice)
