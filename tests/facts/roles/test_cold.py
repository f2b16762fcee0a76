"""What runs seldom by its name, or by that of its file."""

from __future__ import annotations

import pytest
from snippets import hot_at

FORWARD = """
class Wrapped(nn.Module):
    def forward(self, x: torch.Tensor):
        return x.mean()  # <-
"""


@pytest.mark.parametrize(
    ("path", "hot"),
    [
        ("nets/blocks.py", True),
        ("nets/onnx.py", False),
        ("nets/onnx_model.py", False),
        ("nets/decoder_onnx.py", False),
        ("glue_onnx/glue.py", True),
        ("nets/decoder_onnx_model.py", False),
        ("_export/attention.py", False),
        ("tools/export_model.py", False),
        ("nets/exported_features.py", True),
        ("trt/engine.py", False),
        ("strtok.py", True),
    ],
)
def test_what_wraps_models_for_other_runtimes_is_traced(path, hot):
    assert (hot_at({path: FORWARD}) is not None) is hot


@pytest.mark.parametrize(
    ("name", "hot"),
    [("Wrapped", True), ("_DebugGraph", False), ("DebugNet", False), ("Debug", False), ("Debugged", True)],
)
def test_what_a_class_for_debugging_tells_is_looked_for(name, hot):
    assert (hot_at(FORWARD.replace("Wrapped", name)) is not None) is hot


@pytest.mark.parametrize(
    ("name", "hot"),
    [
        ("train", True),
        ("measure_vram", False),
        ("measure_step_latency", False),
        ("measure_all", True),
        ("_test_adam", False),
        ("_initialize_centers", False),
        ("initialized", True),
        ("_graph_reinitialize", False),
        ("initialize_training", True),
        ("profile_epoch", False),
        ("_profiling", False),
        ("model_profile", False),
        ("train_with_profiling", True),
        ("fit_profile", True),
        ("_train_profile", True),
        ("learn_profile_vectors", True),
    ],
)
def test_loops_that_measure_are_not_waited_for(name, hot):
    code = f"""
    def {name}(model, loader, optimizer):
        for x in loader:
            loss = model(x).mean()
            loss.backward()
            optimizer.step()
            print(loss)  # <-
    """
    assert (hot_at(code) is not None) is hot


@pytest.mark.parametrize(
    ("name", "steps", "hot"),
    [
        ("train_user_profile", "optimizer.step()", True),
        ("update_profile", "optimizer.step()", True),
        ("update_profile", "pass", False),
        ("profile_model", "pass", False),
        ("learn_profile_vectors", "pass", True),
        ("run_benchmark", "optimizer.step()", False),
    ],
)
def test_a_loop_that_calls_what_profiles_trains_nothing(name, steps, hot):
    code = f"""
    def {name}(model, optimizer, x):
        loss = model(x).mean()
        loss.backward()
        {steps}
        return loss

    def go(model, optimizer, data):
        for x in data:
            loss = {name}(model, optimizer, x.cuda())
            print(loss)  # <-
    """
    assert (hot_at(code) is not None) is hot


@pytest.mark.parametrize(
    ("decorator", "hot"), [('@singleton("teacher")', False), ("@memoize", False), ("@timed", True)]
)
def test_what_a_decorator_keeps_runs_once(decorator, hot):
    code = f"""
class Pair(nn.Module):
    {decorator}
    def teacher(self):
        return copy.deepcopy(self.student)  # <-

    def forward(self, x: torch.Tensor):
        return self.teacher()(x)
"""
    assert (hot_at(code) is not None) == hot


@pytest.mark.parametrize(
    ("name", "hot"),
    [
        ("extract_mesh", False),
        ("extract_triangle_meshes", False),
        ("_extract_geometry", False),
        ("extract_features", True),
        ("mesh_loss", True),
    ],
)
def test_a_mesh_of_what_was_learnt_is_saved(name: str, hot: bool):
    code = f"""
    class Field(nn.Module):
        def forward(self, x: torch.Tensor):
            return self.{name}(x)

        def {name}(self, x):
            return x.mean()  # <-
    """
    assert (hot_at(code) is not None) is hot


OFFERED = """
def {name}(image: torch.Tensor):
    mean = torch.tensor([0.5, 0.4, 0.3])
    return image + mean.to(image.device)  # <-
"""


@pytest.mark.parametrize(
    ("name", "hot"),
    [("shift", True), ("denormalize_image", False), ("unnormalise_images", False), ("denormalize", True)],
)
def test_pictures_are_scaled_back_to_be_looked_at(name, hot):
    assert (hot_at({"a.py": OFFERED.format(name=name)}) is not None) is hot
