"""Trains the same small network on the simulated device and on the host: losses.py OUT FOLDER."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
from torch import nn

from torchperf_lint.runtime import simulated


class Silent:
    def sync(self, what: str) -> None: ...

    def copy(self, direction: str, nbytes: int, pinned: bool, blocking: bool) -> None: ...

    def unsupported(self, what: str) -> None: ...


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(2, 8, 3, padding=1)
        self.norm = nn.BatchNorm1d(8)
        self.lstm = nn.LSTM(8, 6, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(12, 6, batch_first=True)
        self.attention = nn.TransformerEncoderLayer(6, 2, 12, batch_first=True, dropout=0.0)
        self.out = nn.Linear(6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.norm(self.conv(x))).transpose(1, 2)
        x, _ = self.lstm(x)
        x, _ = self.gru(x)
        return self.out(self.attention(x).mean(1))


def train(device: str) -> list[float]:
    torch.manual_seed(0)
    network = Network()
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-2)
    network.to(device)
    torch.manual_seed(1)
    losses = []
    x = torch.randn(16, 2, 10, device=device)
    y = torch.randint(0, 3, (16,), device=device)
    for _ in range(10):
        optimizer.zero_grad()
        noisy = nn.functional.dropout(x, 0.1)
        loss = nn.functional.cross_entropy(network(noisy), y)
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


def main() -> None:
    simulated.install(Silent())
    Path(sys.argv[1]).write_text(json.dumps([{device: train(device) for device in ("cuda", "cpu")}]), encoding="utf-8")


if __name__ == "__main__":
    main()
