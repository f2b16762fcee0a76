"""Loops over frames or files that hand each to what computes without gradients, one or two calls on."""

from __future__ import annotations

import pytest
from snippets import hot_at

from torchperf_lint.facts.hotness.inputs_one_by_one import counted_over

TRACKS = """
    class Refiner:
        def __init__(self):
            self.net = make()

        {off}
        def {refine}(self, image):
            out = self.net(image)
            torch.cuda.empty_cache()  # <-
            return out

    class Tracker:
        def __init__(self):
            self.refiner = Refiner()

        def {track}(self, image):
            return self.refiner.{refine}(image)

    def {run}(reader, kept):
        tracker = Tracker()
        for {turn}:
            pose = tracker.{track}(reader.read(i))
            {shows}
"""
GIVEN = {
    "off": "@torch.inference_mode()",
    "refine": "predict",
    "track": "track_one",
    "run": "main",
    "turn": "i in range(len(reader.color_files))",
    "shows": "kept.append(pose)",
}


def tracks(**changed):
    return hot_at(TRACKS.format(**{**GIVEN, **changed}))


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"turn": "i in reader.frames"},
        {"turn": "k, i in enumerate(reader.frames)"},
        {"off": "@torch.no_grad()"},
        {"shows": "if reader.debug:\n                cv2.imwrite(reader.name, pose)"},
    ],
)
def test_each_input_is_computed(changed):
    found = tracks(**changed)
    assert found is not None
    assert found.kind == "eval"
    assert found.when.startswith("with every input")


@pytest.mark.parametrize(
    "changed",
    [
        {"turn": "i in range(len(reader.parts))"},
        {"turn": "i in range(3)"},
        {"turn": "i in reader.prompts"},
        {"turn": "i in reader.validation_images"},
        {"off": ""},
        {"refine": "setup"},
        {"track": "export"},
        {"run": "render"},
        {"shows": "cv2.imwrite(reader.name, pose)"},
    ],
)
def test_nothing_says_so(changed):
    assert tracks(**changed) is None


def test_what_is_counted():
    assert counted_over("for i in range(len(reader.frames))") == "reader.frames"
    assert counted_over("for i in tqdm(range(0, len(frames)))") == "frames"
    assert counted_over("for i in range(n)") == ""


MOVED = """
    def update(counts, positions):
        near = positions.norm(dim=-1) < 4
        counts.add_(near.sum())  # <-
        return near

    {off}
    def accumulate({frames}, device):
        counts = torch.zeros((), device=device)
        for frame in {frames}:
            positions = {moved}
            update(counts, positions)
        return counts
"""


def moved(off="@torch.no_grad()", frames="frames", moved='torch.as_tensor(frame["x"], device=device)'):
    return hot_at(MOVED.format(off=off, frames=frames, moved=moved))


def test_each_frame_that_is_brought_to_the_device_is_computed_there():
    found = moved()
    assert found is not None
    assert found.when.startswith("with every input")


@pytest.mark.parametrize(
    "changed",
    [
        {"off": "@cached"},
        {"frames": "folders"},
        {"moved": 'torch.as_tensor(frame["x"])'},
        {"moved": 'torch.as_tensor(frame["x"], device="cpu")'},
    ],
)
def test_frames_that_stay_on_the_host_and_other_loops(changed):
    assert moved(**changed) is None
