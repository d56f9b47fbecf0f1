"""Hogwild training of shared weights in several processes, written for PyTorch only."""

import sys

import torch
import torch.multiprocessing as mp
import torch.nn as nn
import torch.optim as optim


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, x):
        return self.layers(x)


def make(seed, count):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(count, 8, generator=generator)
    return x, x[:, :1] * x[:, 1:2] + x[:, 2:3]


def train(rank, model, losses):
    torch.set_num_threads(1)
    torch.manual_seed(rank)
    x, y = make(rank + 1, 512)
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.5)
    for _ in range(150):
        i = torch.randint(512, (32,))
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[i]), y[i])
        loss.backward()
        optimizer.step()
    losses.put((rank, loss.item()))


if __name__ == "__main__":
    mp.set_start_method(sys.argv[1])
    torch.manual_seed(0)
    model = Model()
    model.share_memory()
    x, y = make(100, 512)
    with torch.no_grad():
        before = nn.functional.mse_loss(model(x), y).item()
    losses = mp.Queue()
    processes = [mp.Process(target=train, args=(r, model, losses)) for r in range(2)]
    for p in processes:
        p.start()
    ranks = sorted(losses.get()[0] for _ in processes)
    for p in processes:
        p.join()
    with torch.no_grad():
        after = nn.functional.mse_loss(model(x), y).item()
    print(ranks, [p.exitcode for p in processes], after < 0.7 * before)
