"""Lists of numbers at the top of modules, as indices."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.host_indices import host_indices

JOINTS = """
    ALL_JOINTS = [6, 5, 4, 1, 2, 3]
    SOME_JOINTS = ALL_JOINTS[:3]
    LEFT_EYE = list(range(33, 47)) + list(range(133, 145))
    ORDER = [2, 1, 0]
    LAST_AND_FIRST = [-1, 0]
    SWITCHES = [True, False]
    ONE_JOINT = 3
    BODY_PARTS = [[0, 1], [2]]
    PART_NAMES = ["hip", "knee"]
    TWO_WAYS = [1, 2]
    if ONE_JOINT:
        TWO_WAYS = 3
"""
NET = """
    import joints
    from joints import ALL_JOINTS, BODY_PARTS, LAST_AND_FIRST, LEFT_EYE, ONE_JOINT, ORDER
    from joints import PART_NAMES, SWITCHES, TWO_WAYS
    from joints import SOME_JOINTS as PICKED_JOINTS
    from elsewhere import OTHER_JOINTS

    OWN_JOINTS = sorted(ALL_JOINTS) + [7]

    class Net(nn.Module):
        def forward(self, x: torch.Tensor, FOURTH_JOINT):
            x = x.cuda()
            {binding}
            return {expression}
"""


def told(expression, binding="pass"):
    files = texts({"joints.py": JOINTS, "a.py": NET.format(expression=expression, binding=binding)})
    return len(list(host_indices(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))))


@pytest.mark.parametrize(
    "expression",
    [
        "x[:, ALL_JOINTS]",
        "x[:, PICKED_JOINTS, :]",
        "x[..., LEFT_EYE]",
        "x[joints.SOME_JOINTS]",
        "x[:, OWN_JOINTS, :2]",
        "x[:, LAST_AND_FIRST]",
    ],
)
def test_a_list_of_a_module_is_copied_at_each_use(expression):
    assert told(expression) == 1


def test_a_name_of_one_word_is_enough():
    used = "import torch\nfrom torch import nn\nfrom joints import ORDER\n\nclass Net(nn.Module):\n"
    used += "    def forward(self, x: torch.Tensor):\n        x = x.cuda()\n        return x[:, ORDER]\n"
    files = {"joints.py": "ORDER = [2, 1, 0]\n", "a.py": used}
    assert len(list(host_indices(SourceFile(Project.of_texts(files), "a.py", used)))) == 1


@pytest.mark.parametrize(
    ("expression", "binding"),
    [
        ("x[:, ONE_JOINT]", "pass"),
        ("x[:, TWO_WAYS]", "pass"),
        ("x[:, SWITCHES]", "pass"),
        ("x[:, OTHER_JOINTS]", "pass"),
        ("x[:, FOURTH_JOINT]", "pass"),
        ("self.table[PART_NAMES]", "pass"),
        ("torch.zeros(9)[ALL_JOINTS]", "pass"),
        ("x[:, ALL_JOINTS]", "ALL_JOINTS = self.joints"),
    ],
)
def test_other_constants_are_no_lists_of_indices(expression, binding):
    assert told(expression, binding) == 0
