"""Copies to the host of what an iterator of the project has uploaded and handed over."""

import pytest
from calls_in import site_of

from torchperf_lint.facts.copies.uploaded_by_iterators import had_before, uploaded_by_iterator

COPY = "labels.data.cpu()"


def found(
    labels="torch.LongTensor([row[1] for row in rows]).to(self.device)",
    gives="x, labels",
    loop="for x, labels in batches",
    before="pass",
    given="Batches(rows, 'cuda')",
    copy=COPY,
):
    """The upload that is found for a copy in an evaluation, two calls away from where the iterator was made."""
    files = {
        "a.py": f"""
from b import evaluate, fit
class Batches:
    def __init__(self, rows, device):
        self.rows, self.device, self.at = rows, device, 0

    def tensors(self, rows):
        x = torch.FloatTensor([row[0] for row in rows]).to(self.device)
        labels = {labels}
        return {gives}

    def __next__(self):
        if self.at >= len(self.rows):
            raise StopIteration
        rows = self.rows[self.at : self.at + 8]
        self.at += 8
        return self.tensors(rows)

    def __iter__(self):
        return self

def run(rows, model, optimizer):
    fit(model, optimizer, {given})
""",
        "b.py": f"""
def fit(model, optimizer, batches):
    for epoch in range(3):
        evaluate(model, batches)

def evaluate(model, batches):
    model.eval()
    seen = []
    with torch.no_grad():
        {loop}:
            {before}
            out = model(x)
            seen.append({copy}.numpy())
""",
    }
    site = site_of(files, copy)
    upload = uploaded_by_iterator(site.file, site, site.receiver)
    assert had_before(site.file, site) == (upload is not None)
    return upload


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"loop": "for i, (x, labels) in enumerate(batches)"},
        {"loop": "for x, labels in tqdm(batches)"},
        {"loop": "for batch in batches", "before": "x, labels = batch"},
        {"gives": "(x, 3), labels", "loop": "for (x, n), labels in batches"},
        {"copy": "labels.view(-1).cpu()"},
    ],
)
def test_uploads_that_are_handed_over(parts):
    upload = found(**parts)
    assert upload is not None
    assert (upload.path, upload.by) == ("a.py", "Batches.tensors")


@pytest.mark.parametrize(
    "parts",
    [
        {"labels": "torch.randint(0, 3, (len(rows),), device=self.device)"},  # it was never on the host
        {"labels": "self.labels(x)"},
        {"gives": "labels, x", "labels": "self.net(x)", "copy": "x.cpu()"},
        {"before": "labels[x > 0] = 1"},
        {"before": "labels = model(labels)"},
        {"before": "labels.clamp_(0, 3)"},
        {"given": "rows"},
        {"copy": "out.cpu()"},
    ],
)
def test_what_the_host_did_not_have(parts):
    assert found(**parts) is None
