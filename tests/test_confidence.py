"""How sure words are, compared with each other."""

from __future__ import annotations

import pytest

from torchperf_lint.model import Confidence

_WORDS = list(Confidence)


def test_the_lower_of_two_words_is_kept():
    assert Confidence.CERTAIN.at_most(Confidence.LIKELY) is Confidence.LIKELY
    assert Confidence.POSSIBLE.at_most(Confidence.LIKELY) is Confidence.POSSIBLE


@pytest.mark.parametrize("word", _WORDS)
@pytest.mark.parametrize("limit", _WORDS)
def test_no_word_is_more_than_its_limit_or_than_it_was(word: Confidence, limit: Confidence):
    kept = word.at_most(limit)
    assert limit.at_least(kept) and word.at_least(kept)
    assert kept in (word, limit)
