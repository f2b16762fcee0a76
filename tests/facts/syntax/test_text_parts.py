"""What a text holds of what is sought in it."""

import pytest

from torchperf_lint.facts.syntax.text_parts import TextParts, Vocabulary

TEXT = "x = loss.item()\nlog_softmax (y)\nif torch.any(\n    mask\n):\n    f(g(h[0] + 1))(z)\n"


SOUGHT = (
    ".item( loss.item( item( softmax( any( torch.any( f( f(g( g( ]( )( ( loss.item() x= mask mas h[0] 1)) .items( y( "
    "in( torch"
).split()


@pytest.mark.parametrize("sought", [*SOUGHT, "", "x = loss", "softmax (", " + ", "\n("])
def test_says_what_the_text_says(sought):
    assert (sought in TextParts(TEXT, Vocabulary())) == (sought in TEXT)


@pytest.mark.parametrize("sought", ["(", "f(", "x"])
def test_an_empty_text_holds_nothing(sought):
    assert sought not in TextParts("", Vocabulary())


def test_of_many_all_that_a_text_holds_are_likely():
    asked = (*SOUGHT, "", "x = loss", "softmax (", " + ", "\n(")
    likely = TextParts(TEXT, Vocabulary()).likely(asked)
    assert {sought for sought in asked if sought in TEXT} <= likely < set(asked)
    assert likely.isdisjoint((".items(", "x = losses"))


def test_words_of_one_text_are_not_found_in_another():
    vocabulary = Vocabulary()
    first = TextParts("loss.item()", vocabulary)
    assert ("item" in first, "tem(" in first, "items" in first) == (True, True, False)
    second = TextParts("items\nlog_softmax", vocabulary)
    assert ("item" in second, "items" in second, "softmax" in second, "loss" in second) == (True, True, True, False)
    assert ("items" in first, "softmax" in first) == (False, False)


def test_a_letter_that_is_not_ascii_ends_no_search():
    text = TextParts("größe_x = 'naïve\udc80item'", Vocabulary())
    assert all(part in text for part in ("e_x", "gr", "ß", "item", "ve"))
