"""Parameters that a function converts whatever it is given."""

from __future__ import annotations

import pytest
from snippets import IMPORTS

from torchperf_lint.facts.bindings.converted import converts_all
from torchperf_lint.facts.files.project import Project

BOTH = """
    if isinstance(pos, int):
        pos = torch.arange(pos)
    if isinstance(pos, np.ndarray):
        pos = torch.from_numpy(pos)
"""
EITHER = BOTH.replace("    if isinstance(pos, np", "    elif isinstance(pos, np")
LISTS = """
    if isinstance(pos, (list, tuple)):
        pos = torch.tensor(pos)
"""
ONE = """
    if isinstance(pos, int):
        pos = torch.arange(pos)
"""
OTHERWISE = """
    if not isinstance(pos, int):
        pos = torch.from_numpy(pos)
"""


@pytest.mark.parametrize(
    ("annotation", "body", "all_of_them"),
    [
        (": np.ndarray | int", BOTH, True),
        (": numpy.ndarray | int", EITHER, True),
        (": Union[int, np.ndarray]", BOTH, True),
        (": int", ONE, True),
        (": list[float] | tuple", LISTS, True),
        (": np.ndarray | int", ONE, False),
        (": np.ndarray | int | torch.Tensor", BOTH, False),
        (": Optional[int]", ONE, False),
        (": int | None", ONE, False),
        (": int", OTHERWISE, False),
        ("", BOTH, False),
    ],
)
def test_whether_each_class_of_the_annotation_is_converted(annotation, body, all_of_them):
    text = f"{IMPORTS}\ndef table(dim, pos{annotation}):{body}    return pos\n"
    project = Project.of_texts({"a.py": text})
    found = project.body("a.py")
    returned = found.returns(1)[0]
    reaching = found.reaching(1, "pos", found.at(returned))
    assert converts_all(found, 1, "pos", reaching) is all_of_them
