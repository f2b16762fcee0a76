"""Numbers in words."""

import pytest

from torchperf_lint import amounts


@pytest.mark.parametrize(
    ("value_ms", "text"),
    [(0.0052, "5.2 us"), (0.12, "120 us"), (0.999, "999 us"), (1.33, "1.33 ms"), (0.0, "0 us")],
)
def test_microseconds_become_milliseconds_before_they_need_a_power_of_ten(value_ms, text):
    assert amounts.us(value_ms) == text
