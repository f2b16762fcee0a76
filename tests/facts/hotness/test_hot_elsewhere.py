"""Code that runs often by what calls it elsewhere: decoders, trackers, target assigners, parts known by their kind."""

from __future__ import annotations

import pytest
from snippets import hot_at

HOT = {
    "a component by its kind": """
        class MaxIoUAssigner:
            def assign(self, boxes):
                return boxes * 2  # <-

        class Head(nn.Module):
            def __init__(self, assigner):
                super().__init__()
                self.assigner = assigner

            def forward(self, x):
                return self.assigner.assign(x)
        """,
    "a logits processor of the project's own": """
        class SuppressLogitsProcessor:
            def __call__(self, ids, scores):
                return scores * 2  # <-
        """,
    "a decoder by its name": """
        class DecodingTask:
            def _loop(self, tokens):
                for _ in range(self.length):
                    logits = self.decoder(tokens)
                    tokens = logits.argmax(-1)  # <-
        """,
    "a decoder that asks whoever runs the network": """
        class DecodingTask:
            def _loop(self, tokens, features):
                for _ in range(self.sample_len):
                    logits = self.inference.logits(tokens, features)
                    tokens = logits.argmax(-1)  # <-
        """,
    "a rollout with whatever acts": """
        class Runner:
            def learn(self, obs):
                with torch.inference_mode():
                    for i in range(self.num_steps):
                        obs, rewards = self.env.step(self.alg.act(obs))
                        print(rewards)  # <-
        """,
    "every n-th sample of a data set": """
        class Trainer:
            def test(self):
                with torch.no_grad():
                    self.output = self.run(self.x)

            def validation(self, loader, rank, world):
                dataset = loader.dataset
                for i in range(rank, len(dataset), world):
                    sample = dataset[i]
                    self.test()
                    print(sample)  # <-
        """,
    "a loop up to a greatest length": """
        def sample(engine, tokens, max_new_tokens):
            for _ in range(max_new_tokens):
                tokens = engine.get_logits(tokens).argmax(-1)  # <-
        """,
    "what a loop without gradients takes of a loader": """
        def extract(net_of, data_loader):
            found = []
            with torch.no_grad():
                for images, names in data_loader:
                    found.append(run_on(net_of, images))
            return found

        def run_on(net_of, images):
            images = images.cuda()  # <-
            return images
        """,
    "a private helper of what runs without gradients": """
        class Generator:
            @torch.no_grad()
            def generate(self, image):
                return self._crops(image)

            def _crops(self, image):
                for points in grid(image):
                    found = self.predictor.predict_points(points)
                    print(found)  # <-
        """,
    "an evaluation by a method of the model": """
        class Trainer(object):
            @torch.no_grad()
            def evaluate(self, data):
                for item in data:
                    scores = self.model.full_sort_predict(item)
                    print(scores)  # <-
        """,
    "a function handed to multi_apply": """
        class Head(nn.Module):
            def loss(self, scores, targets):
                return multi_apply(self.loss_single, scores, targets)

            def loss_single(self, score, target):
                return score - target  # <-
        """,
    "a tracker": """
        class Tracker:
            def step(self, blob):
                return blob * 2  # <-
        """,
    "an assigner of targets": """
        class Assigner:
            def assign_targets(self, anchors, gt_boxes):
                return anchors - gt_boxes  # <-
        """,
    "the loss of a batch": """
        def adapt(model, batch, ways):
            data, labels = batch
            return F.cross_entropy(model(data), labels)  # <-
        """,
    "what a function drops again": """
        class Loss(nn.Module):
            def forward(self, x):
                if self.mask is None:
                    self.mask = x > 0  # <-
                loss = (x * self.mask).mean()
                self._reset_masks()
                return loss
        """,
    "the batch that a base class of a package trains on": """
        from basicsr.models.sr_model import SRModel


        class Restoration(SRModel):
            def feed_data(self, data):
                self.lq = data["lq"].cuda()  # <-
        """,
    "a part of a model, run for each row": """
        @torch.no_grad()
        def evaluation(model, rows, features):
            for row in rows:
                states = features[row.topk(8).indices]  # <-
                model.text_encoder(states)
        """,
    "an operator with an exported form": """
        class Sampled(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * torch.rand(x.shape)  # <-

            @staticmethod
            def backward(ctx, grad):
                return grad

            @staticmethod
            def symbolic(g, x):
                return g.op("Sampled", x)
        """,
    "an operator without a gradient": """
        class Suppression(torch.autograd.Function):
            @staticmethod
            def forward(ctx, boxes, scores):
                return ext.nms(boxes, scores)  # <-

            @staticmethod
            def symbolic(g, boxes, scores):
                return g.op("NonMaxSuppression", boxes, scores)
        """,
}
COLD = {
    "what stands in for an operator of an exported graph": """
        class Suppression(torch.autograd.Function):
            @staticmethod
            def forward(ctx, boxes, scores):
                return torch.randint(0, 100, (100, 3))  # <-

            @staticmethod
            def symbolic(g, boxes, scores):
                return g.op("NonMaxSuppression", boxes, scores)
        """,
    "a batch that no base class is known to train on": """
        class Viewer(nn.Module):
            def feed_data(self, data):
                self.shown = data["image"].cuda()  # <-
        """,
    "no batch at all": """
        from basicsr.models.sr_model import SRModel


        class Restoration(SRModel):
            def set_input(self):
                self.shown = torch.zeros(3)  # <-
        """,
    "a part of a model that is only asked for": """
        @torch.no_grad()
        def collect(models):
            for model in models:
                print(model.get_encoder())  # <-
        """,
    "an environment outside of any loop without gradients": """
        def record(env, actions):
            for action in actions:
                print(env.step(action))  # <-
        """,
    "logits of texts one after the other": """
        def compare(engine, texts):
            for text in texts:
                print(engine.logits(text))  # <-
        """,
    "an optimizer of many": """
        class Adam8bitOptimizer:
            def tune(self, x):
                return x * 2  # <-

        class Head(nn.Module):
            def forward(self, x):
                return self.optimizer.tune(x)
        """,
    "a helper that training calls as well": """
        class Generator:
            @torch.no_grad()
            def generate(self, image):
                return self._crops(image)

            def fit(self, image):
                return self._crops(image)

            def _crops(self, image):
                for points in grid(image):
                    print(self.predictor.predict_points(points))  # <-
        """,
    "what is prepared once": """
        class SuppressLogitsProcessor:
            def __call__(self, ids, scores):
                if not self.prepared_variables:
                    self._prepare(scores)
                return scores

            def _prepare(self, scores):
                self.bias = scores * 2  # <-
        """,
    "what is kept": """
        class Loss(nn.Module):
            def forward(self, x):
                if self.mask is None:
                    self.mask = x > 0  # <-
                return (x * self.mask).mean()
        """,
    "targets of a data set": """
        class Data:
            def get_targets(self, index):
                return self.targets[index]  # <-
        """,
    "a summary of a batch": """
        def describe(model, batch):
            return model(batch)  # <-
        """,
}


@pytest.mark.parametrize("code", HOT.values(), ids=HOT)
def test_code_that_others_run_often(code):
    assert hot_at(code) is not None


@pytest.mark.parametrize("code", COLD.values(), ids=COLD)
def test_code_that_nobody_runs_often(code):
    assert hot_at(code) is None
