"""Train one network with several processes at once, without locks (Hogwild).

    python examples/hogwild.py
    python examples/hogwild.py --compare      # also with one process, and the speed-up

The weights lie in shared memory, and every process updates them as it pleases: updates
that collide are rare and small, and training goes on (Niu et al., 2011). Reads
examples/data/digits.npz, enlarged to 28x28 pixels, shifted and with noise, and fails if
the test accuracy is below what is expected (95 %).
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from rich.console import Console

import ember
import ember.multiprocessing as mp
from ember import nn
from ember.utils.data import DataLoader, DistributedSampler, TensorDataset

HERE = Path(__file__).resolve().parent
EXPECTED = 0.95


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--processes", type=int, default=2, help="that train")
    parser.add_argument("--epochs", type=int, default=6, help="passes over the data")
    parser.add_argument("--batch-size", type=int, default=32, help="images a step")
    parser.add_argument("--lr", type=float, default=0.1, help="learning rate")
    parser.add_argument("--copies", type=int, default=8, help="of each image")
    parser.add_argument("--seed", type=int, default=0, help="of everything random")
    parser.add_argument(
        "--compare", action="store_true", help="train with one process, too"
    )
    parser.add_argument(
        "--data", type=Path, default=HERE / "data" / "digits.npz", help="the images"
    )
    parser.add_argument(
        "--expect", type=float, default=EXPECTED, help="test accuracy to reach"
    )
    return parser.parse_args()


def load(path: Path, copies: int, seed: int) -> tuple[TensorDataset, TensorDataset]:
    """Images like those of MNIST to train with, and to test with."""
    with np.load(path) as file:
        small, labels = file["images"].astype(np.float32) / 16, file["labels"]
    draw = np.random.default_rng(seed)
    images = np.kron(small, np.ones((3, 3), np.float32))
    images = np.pad(images, ((0, 0), (2, 2), (2, 2)))

    def shifted(indices: np.ndarray) -> TensorDataset:
        made = np.stack(
            [np.roll(images[i], draw.integers(-2, 3, 2), (0, 1)) for i in indices]
        )
        made += draw.normal(0, 0.1, made.shape)
        pixels = ember.from_numpy(made.reshape(len(made), -1) - 0.5).float()
        return TensorDataset(pixels, ember.from_numpy(labels[indices].astype(np.int64)))

    order = draw.permutation(len(images))
    cut = len(images) * 4 // 5
    return shifted(np.repeat(order[:cut], copies)), shifted(order[cut:])


def network() -> nn.Module:
    return nn.Sequential(
        nn.Linear(784, 256),
        nn.ReLU(),
        nn.Linear(256, 128),
        nn.ReLU(),
        nn.Linear(128, 10),
    )


def train(
    rank: int, model: nn.Module, data: TensorDataset, args: argparse.Namespace
) -> None:
    """What each process does: an ordinary training loop over its part of the data."""
    ember.set_num_threads(1)
    ember.manual_seed(args.seed + rank)
    sampler = DistributedSampler(data, args.processes, rank, seed=args.seed)
    loader = DataLoader(data, args.batch_size, sampler=sampler)
    loss_fn = nn.CrossEntropyLoss()
    optimizer = ember.optim.SGD(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for images, labels in loader:
            loss = loss_fn(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def accuracy(model: nn.Module, data: TensorDataset) -> float:
    images, labels = data.tensors
    with ember.no_grad():
        return float((model(images).argmax(1) == labels).float().mean())


def run(
    data: TensorDataset, test: TensorDataset, args: argparse.Namespace
) -> tuple[float, float]:
    """Test accuracy, and images a second."""
    ember.manual_seed(args.seed)
    model = network().share_memory()
    start = time.perf_counter()
    mp.start_processes(
        train, (model, data, args), nprocs=args.processes, start_method="fork"
    )
    seconds = time.perf_counter() - start
    return accuracy(model, test), args.epochs * len(data) / seconds


def main() -> int:
    args = arguments()
    console = Console()
    data, test = load(args.data, args.copies, args.seed)
    reached, speed = run(data, test, args)
    console.print(
        f"{args.processes} processes: {speed:,.0f} images a second, "
        f"test accuracy {reached:.2%}"
    )
    if args.compare:
        alone = argparse.Namespace(**{**vars(args), "processes": 1})
        one, slower = run(data, test, alone)
        console.print(
            f"1 process: {slower:,.0f} images a second, test accuracy {one:.2%}; "
            f"{args.processes} are {speed / slower:.2f} times as fast"
        )
    good = reached >= args.expect
    console.print(
        f"expected at least {args.expect:.0%}: "
        + ("[green]reached[/green]" if good else "[red]not reached[/red]")
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
