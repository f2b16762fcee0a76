"""What a text holds of what is sought in it."""

import pytest

from torchperf_lint.facts.syntax.text_parts import TextParts

TEXT = "x = loss.item()\nlog_softmax (y)\nif torch.any(\n    mask\n):\n    f(g(h[0] + 1))(z)\n"


SOUGHT = (
    ".item( loss.item( item( softmax( any( torch.any( f( f(g( g( ]( )( ( loss.item() x= mask mas h[0] 1)) .items( y( "
    "in( torch"
).split()


@pytest.mark.parametrize("sought", [*SOUGHT, "", "x = loss", "softmax (", " + ", "\n("])
def test_says_what_the_text_says(sought):
    assert (sought in TextParts(TEXT)) == (sought in TEXT)


@pytest.mark.parametrize("sought", ["(", "f(", "x"])
def test_an_empty_text_holds_nothing(sought):
    assert sought not in TextParts("")
