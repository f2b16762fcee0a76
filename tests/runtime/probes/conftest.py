"""Sessions that record the tests' own process."""

import pytest
from recording import Watched


@pytest.fixture
def watched(tmp_path):
    """A recording session in this process, over this repository."""
    return Watched(tmp_path / "run.events.jsonl")


@pytest.fixture
def simulated(tmp_path):
    """The same, as it is under --simulate."""
    return Watched(tmp_path / "run.events.jsonl", simulate=True)
