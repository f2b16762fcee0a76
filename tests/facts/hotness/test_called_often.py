"""Code whose callers stand elsewhere: loops without gradients, processors, first values of a pass, single inputs."""

from __future__ import annotations

import pytest
from snippets import hot_at

DECODER = """
    class Generator:
        def __init__(self, models):
            self.model = models

        {decorator}
        def generate(self, sample):
            return self._generate(sample)

        def _generate(self, tokens):
            for step in range(len(tokens)):
                scores = self.model.{method}(tokens[:, :step])
                print(scores)  # <-
    """
LOOPS = {
    "a loop whose only caller switches gradients off": DECODER.format(decorator="@torch.no_grad()", method="forward"),
    "a part of a model": DECODER.format(decorator="@torch.inference_mode()", method="forward_decoder"),
    "batches that a function makes": """
        @torch.no_grad()
        def generate(predictor, points):
            for (part,) in batch_iterator(64, points):
                predictor.process_batch(part)
                print(part)  # <-
        """,
    "an iterator of batches that is handed on without gradients": """
        @torch.no_grad()
        def decode(sample):
            return sample

        def decode_all(data_itr):
            for sample in data_itr:
                hypotheses = decode(sample)
                print(sample)  # <-
        """,
    "a batch that its evaluation is handed": """
        class Trainer:
            def _score_batch(self, data):
                return self.model.scores(data)

            @torch.no_grad()
            def evaluate(self, data):
                for index, batched_data in enumerate(data):
                    print(self._score_batch(batched_data))  # <-
        """,
    "the optimizer of a phase": """
        def train(phases, batches):
            for phase in phases:
                phase["opt"].step()
                print(phase)  # <-
        """,
    "a batch taken by next, and phases that train on it": """
        def train(phases, batches, device):
            while True:
                images, labels = next(batches)
                images = images.to(device)  # <-
                for phase in phases:
                    phase.loss(images).backward()
        """,
}


@pytest.mark.parametrize("snippet", LOOPS.values(), ids=LOOPS)
def test_loops_that_are_hot(snippet):
    assert hot_at(snippet) is not None


COLD_LOOPS = {
    "gradients stay on": DECODER.format(decorator="", method="forward"),
    "a hook is registered, nothing run": DECODER.format(decorator="@torch.no_grad()", method="forward_hook"),
    "a hook for batches, in training that nobody can see": """
        class Trainer:
            def train(self, batches):
                for batch in self.collected:
                    batch = self._process_batch_hook(batch)
                    print(batch)  # <-
        """,
    "a parameter taken by next": """
        def train(phases, model, epochs):
            for epoch in range(epochs):
                device = next(model.parameters()).device
                print(device)  # <-
                for x in phases:
                    model(x).backward()
        """,
    "what comes once so many images were seen": """
        def train(phases, batches, per_tick):
            start, seen = 0, 0
            while True:
                images = next(batches)
                for phase in phases:
                    phase.loss(images).backward()
                seen += 1
                if start != 0 and seen < tick_start + images_per_tick * 1000:
                    continue
                print(seen)  # <-
        """,
    "what is prepared at the first call": """
        class Net(nn.Module):
            def forward(self, x):
                if not self.prepared_tables:
                    self.prepare(x)
                return x

            def prepare(self, x):
                print(x)  # <-
                self.prepared_tables = True
        """,
    "weights are initialised": """
        class Net(nn.Module):
            def forward(self, x):
                self.initialize_weights()
                return x

            def initialize_weights(self):
                print(self)  # <-
        """,
    "what is made at first use and kept": """
        class Net(nn.Module):
            def forward(self, x):
                self.grid = self._init_grid(x)
                return x

            def _init_grid(self, x):
                return print(x)  # <-
        """,
    "what is made anew for longer inputs": """
        class Positions(nn.Module):
            def extend(self, x):
                if self.table is not None:
                    if self.table.size(1) >= x.size(1):
                        return
                table = torch.zeros(x.size(1), 8)
                print(x)  # <-
                self.table = table.to(x.device)

            def forward(self, x):
                self.extend(x)
                return x + self.table
        """,
    "what is made anew for longer inputs, asked at once": """
        class Positions(nn.Module):
            def extend(self, n):
                if n <= self.table.size(1):
                    return
                print(n)  # <-
                self.table = torch.zeros(n, 8)

            def forward(self, x):
                self.extend(x.size(1))
                return x + self.table
        """,
    "what is kept for a size": """
        class Head(nn.Module):
            def forward(self, x, k):
                grid = self.grids[k]
                if grid.shape[2:4] != x.shape[2:4]:
                    grid = print(x)  # <-
                    self.grids[k] = grid
                return x + grid
        """,
    "an attribute that is kept for a size": """
        class Head(nn.Module):
            def forward(self, x):
                if self.grid.size(0) != len(x):
                    self.grid = print(x)  # <-
                return x + self.grid
        """,
    "a flag that the branch takes down": """
        class Loss(nn.Module):
            def forward(self, x):
                if self.first:
                    print(x)  # <-
                    self.first = False
                return x
        """,
    "a flag that the branch puts up": """
        class Loss(nn.Module):
            def forward(self, x):
                if not self.made:
                    print(x)  # <-
                    self.made = True
                return x
        """,
    "a scheduler's step": """
        class Scheduler:
            def step(self, metric):
                print(metric)  # <-
        """,
    "a step that runs nothing": """
        class Meter:
            def step(self, value):
                self.total += value.to(self.device)
                self.log_value(value)
                print(value)  # <-

            def log_value(self, value):
                pass
        """,
}


@pytest.mark.parametrize("snippet", COLD_LOOPS.values(), ids=COLD_LOOPS)
def test_code_that_is_not(snippet):
    assert hot_at(snippet) is None


FUNCTIONS = {
    "a processor of logits": """
        class LogitsProcessor:
            def __call__(self, input_ids, scores):
                raise NotImplementedError

        class Bias(LogitsProcessor):
            def __call__(self, input_ids, scores):
                return print(scores)  # <-
        """,
    "the coordinates that a pass begins with": """
        class Flow(nn.Module):
            def forward(self, image):
                first, second = self.initialize_flow(image)
                return second - first

            def initialize_flow(self, image):
                return print(image)  # <-
        """,
    "what steps when a count is reached": """
        class Updater:
            def update_core(self, x, optimizer):
                self.model(x).backward()
                self.count += 1
                if self.count != self.accumulate:
                    return
                self.count = 0
                print(x)  # <-
        """,
    "the state that a pass begins with": """
        class Cell(nn.Module):
            def forward(self, x):
                state = self._init_state(x)
                return state

            def _init_state(self, x):
                return print(x)  # <-
        """,
    "one frame": """
        class Tracker:
            def __init__(self, detector):
                self.detector = detector

            def step(self, blob):
                found = self.detector(blob["image"].to(self.device))
                print(found)  # <-
        """,
    "a module whose base nobody can read": """
        from ..base import PreTrainedModel

        class Model(PreTrainedModel):
            def __init__(self, config):
                super().__init__(config)
                self.embed = nn.Embedding(8, 8)

            def forward(self, tokens):
                print(tokens)  # <-
        """,
}


@pytest.mark.parametrize("snippet", FUNCTIONS.values(), ids=FUNCTIONS)
def test_functions_that_are_hot(snippet):
    assert hot_at(snippet) is not None


@pytest.mark.parametrize(("name", "optional"), [("labels", False), ("target", False), ("mask", True)])
def test_training_hands_over_labels(name, optional):
    found = hot_at(f"""
        class Net(nn.Module):
            def forward(self, x, {name}=None):
                if {name} is not None:
                    print(x)  # <-
        """)
    assert found is not None
    assert found.optional is optional
