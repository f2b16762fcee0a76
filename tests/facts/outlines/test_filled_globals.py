"""Names of the module that functions fill for good."""

from __future__ import annotations

import pytest
from snippets import hot_at

from torchperf_lint.facts.outlines import filled_globals

HELPER = """
grid = None
size = 0

def make_grid(depth):
    global grid, size
    rows = torch.arange(depth.size(1)).type_as(depth)  # <-
    {kept}

class Warp(nn.Module):
    def forward(self, depth):
        {before}
        if {test}:
            {call}
        return depth * grid
"""


@pytest.mark.parametrize(
    ("test", "kept", "often"),
    [
        ("grid is None", "grid = rows", False),
        ("(grid is None) or grid.size(2) < depth.size(2)", "grid = rows", False),
        ("grid is None or len(grid) < len(depth)", "grid = rows", False),
        ("grid is None or grid.device != depth.device", "grid: Tensor = rows", False),
        ("grid is None or size != depth.size(1)", "grid, size = rows, depth.size(1)", False),
        ("grid is None or size != step", "grid, size = rows, step", True),  # another in each step
        ("grid is None or size != depth.step", "grid, size = rows, depth.step", True),
        ("grid is None or size != length", "grid, size = rows, length", False),
        ("grid is None or grid.size(0) <= step", "grid = rows", False),  # it grows, now and then
        ("grid is None or size != depth.size(1)", "grid = rows", True),  # nothing keeps the size
        ("grid is None or depth.size(1) > 4", "grid = rows", True),
        ("grid is None or self.training", "grid = rows", True),
        ("grid is None and grid.size(2) < depth.size(2)", "grid = rows", True),
        ("grid is not None", "grid = rows", True),
        ("depth is None", "grid = rows", True),
        ("grid is None", "other = rows", True),
        ("grid is None", "grid = None", True),
        ("grid is None", "grid = rows if len(rows) > 3 else None", True),
        ("grid is None", "return rows\n    grid = rows", True),
    ],
)
def test_a_function_of_the_module_keeps_what_its_caller_found_missing(test, kept, often):
    text = HELPER.format(test=test, kept=kept, call="make_grid(depth)", before="pass")
    assert (hot_at(text) is not None) is often


@pytest.mark.parametrize(
    ("before", "call"),
    [
        ("grid = None", "make_grid(depth)"),  # a name of the function's own
        ("pass", "[make_grid(d) for d in depth]"),
        ("make_grid(depth)", "make_grid(depth)"),
    ],
)
def test_what_another_name_or_call_does_is_no_filling(before, call):
    assert hot_at(HELPER.format(test="grid is None", kept="grid = rows", call=call, before=before)) is not None


def test_what_the_file_empties_again_is_made_again():
    text = HELPER.format(test="grid is None", kept="grid = rows", call="make_grid(depth)", before="pass")
    assert hot_at(text) is None
    assert hot_at(f"{text}\ndef forget():\n    global grid\n    grid = None\n") is not None
    assert hot_at(f"{text}\ndef forget():\n    grid = None\n") is None
    assert hot_at(f"{text}\ndef forget():\n    global grid\n    del grid\n") is not None


ON_THE_SPOT = """
grid, ready = None, False

def rows_of(depth):
    {declared}
    {test}
        {body}

class Warp(nn.Module):
    def forward(self, depth):
        return depth * rows_of(depth)
"""
MADE = "rows = torch.arange(depth.size(1)).type_as(depth)  # <-"


@pytest.mark.parametrize(
    ("declared", "test", "body", "often"),
    [
        ("global grid", "if grid is None:", f"{MADE}\n        grid = rows\n    return grid", False),
        ("grid = None", "if grid is None:", f"{MADE}\n        grid = rows\n    return grid", True),
        ("global grid", "if grid is not None:", f"return grid\n    {MADE}\n    grid = rows\n    return grid", False),
        ("global grid", "if grid is not None and len(grid) == 3:", f"return grid\n    {MADE}\n    grid = rows", False),
        ("global grid", "if grid is not None or len(depth) > 3:", f"return grid\n    {MADE}\n    grid = rows", True),
        ("global grid", "if depth is not None:", f"return grid\n    {MADE}\n    grid = rows", True),
        ("pass", "if grid is not None:", f"return grid\n    {MADE}\n    return rows", True),
        ("global ready", "if not ready:", f"{MADE}\n        ready = True", False),
        ("global ready", "if not ready:", f"{MADE}\n        ready = len(rows) > 2", True),
        ("global ready", "if ready:", f"return depth\n    {MADE}\n    ready = True", False),
        ("global ready", "if ready:", f"{MADE}\n        ready = True", True),
    ],
)
def test_a_function_fills_a_name_of_its_module_on_the_spot(declared, test, body, often):
    assert (hot_at(ON_THE_SPOT.format(declared=declared, test=test, body=body)) is not None) is often


@pytest.mark.parametrize(
    ("text", "declares"),
    [
        ("def f():\n    global x, y\n", True),
        ("def f():\n\tglobal x\n", True),
        ("def f(): global x\n", True),
        ("def f():\n    x = 1;global y\n", True),
        ("def f():\n    global \\\n        x\n", True),
        ('"""Makes a global average."""\n', False),
        ("x = 1  # global pooling\n", False),
        ("", False),
    ],
)
def test_texts_that_only_speak_of_something_global_declare_nothing(text, declares):
    assert filled_globals._declares(text) == declares
