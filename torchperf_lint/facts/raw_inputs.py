"""Passes that are given what no tensor is, text or pictures: they answer whoever asked, and train nothing.

    def forward(self, phonemes: str, voice: torch.Tensor):
        ids = torch.LongTensor([self.vocab[p] for p in phonemes]).to(self.device)
        ...
        return audio.cpu()
"""

from __future__ import annotations

from torchperf_lint.facts.hints import annotation_words
from torchperf_lint.facts.source import Place

_RAW = frozenset({"str", "Image", "ndarray"})
_AROUND = frozenset("np numpy PIL list List Sequence Iterable tuple Tuple Optional Union None".split())


def is_given_raw_data(place: Place) -> bool:
    """Whether the first thing that the function around is given is annotated as text, a picture, or a list of them."""
    record, body = place.file.outline.functions[place.function], place.file.project.body(place.file.path)
    given = record.parameters[record.bound :][:1]
    words = annotation_words(body, place.function, given[0].name) if body is not None and given else None
    return words is not None and bool(words & _RAW) and words <= _RAW | _AROUND
