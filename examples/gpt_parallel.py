"""The GPT of gpt.py, trained by several processes, each with its part of the batch.

    emberrun --nproc-per-node 2 examples/gpt_parallel.py
    python examples/gpt_parallel.py                        # the same, in one process

Both print the same losses: gradients are averaged over the processes. With `--save` the
state is kept after every 50 steps, and a run that was stopped goes on from there, also
by itself: `emberrun --max-restarts 3 ...`.
"""

import argparse
import inspect
import os
import textwrap
from pathlib import Path

from gpt import GPT, batch_of, loss_of

import ember
import ember.distributed as dist
from ember import nn
from ember.nn.parallel import DistributedDataParallel


def meet() -> None:
    """Join the processes of the launcher; without one, be the only process."""
    if "RANK" in os.environ:
        dist.init_process_group("gloo")
    else:
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)


def average(value: ember.Tensor) -> float:
    """The mean of a number over all processes."""
    value = value.detach().clone()
    dist.all_reduce(value, dist.ReduceOp.AVG)
    return value.item()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch-size", type=int, default=8, help="of all processes")
    parser.add_argument("--context", type=int, default=64)
    parser.add_argument("--save", type=Path, help="where the state is kept")
    args = parser.parse_args()

    meet()
    rank, size = dist.get_rank(), dist.get_world_size()
    ember.manual_seed(0)  # the same batches everywhere; each takes its part
    text = inspect.getsource(textwrap)
    letters = sorted(set(text))
    data = ember.tensor([letters.index(c) for c in text])
    model = DistributedDataParallel(GPT(len(letters), args.context))
    optimizer = ember.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.1)
    first = 1
    if args.save and args.save.exists():
        state = ember.load(args.save)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        ember.set_rng_state(state["random"])
        first = state["step"] + 1
    for step in range(first, args.steps + 1):
        batch = [
            t.chunk(size)[rank] for t in batch_of(data, args.context, args.batch_size)
        ]
        loss = loss_of(model, batch)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 50 == 0 or step == 1:
            mean = average(loss)
            if rank == 0:
                print(f"step {step:4}  loss {mean:.4f}", flush=True)
            if rank == 0 and args.save:
                state = {"model": model.state_dict(), "step": step}
                state["optimizer"] = optimizer.state_dict()
                state["random"] = ember.get_rng_state()
                ember.save(state, args.save)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
