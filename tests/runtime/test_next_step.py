"""What belongs to the last step of a run that ends after some, where no loader says."""

import pytest

from torchperf_lint.runtime.counter import Counter
from torchperf_lint.runtime.next_step import NextStep

EVENTS = {letter: Counter(number) for number, letter in enumerate("abcdefg")}


def ran(loop):
    """What counts of a loop: a small letter is an event, a large one a call at a place of that name, | closes a step,
    ! the last one, and the dot is where the run ends.
    """
    steps, kept = NextStep(), ""
    for sign in loop:
        if sign in EVENTS:
            if steps.happens(EVENTS[sign]):
                steps.counted(EVENTS[sign])
                kept += sign
        elif sign.isupper():
            if steps.calls(sign) and "!" in kept:
                return kept + "."
        else:
            steps.closes()
            kept += sign
            if sign == "!":
                steps.ends()
    return kept


LOOPS = {
    "what leads a step is left out": ("aM|baM|baM!baM", "a|ba|ba!b."),
    "what follows one may have come before": ("bMaM|bcaM|bcaM!bcaM", "ba|bca|bca!bc."),
    "a call that only follows a step does not end it": ("aM|NbaM|NbaM!NbaM", "a|ba|ba!b."),
    "what only some steps have": ("aM|baM|bcaM!bcdaM", "a|ba|bca!bcd."),
    "evaluation, at a place where it was before training, too": ("eVaM|beVaM|baM!baM", "ea|bea|ba!b."),
    "a call that comes several times in a step": ("aMbM|aMbM|aMbM!aMbM", "ab|ab|ab!."),
    "one step": ("aM!baM", "a!b."),
    "no call of a model": ("aB|baB|baB!baB", "a|ba|ba!b."),
    "accumulated gradients": ("aMaM|baMaM!baMaM", "aa|baa!b."),
}


@pytest.mark.parametrize("loop", LOOPS)
def test_the_last_step_ends_where_the_next_begins(loop):
    events, kept = LOOPS[loop]
    assert ran(events) == kept
