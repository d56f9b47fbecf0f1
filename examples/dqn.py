"""Deep Q-learning: a network learns to balance a pole on a cart.

    python examples/dqn.py

The cart is simulated here (Barto, Sutton and Anderson 1983): a push to the left or to
the right every 0.02 s, until the pole falls or 500 steps have passed.
"""

import argparse
import math
import random
from collections import deque
from collections.abc import Sequence
from typing import Any

import ember
import ember.nn.functional as F
from ember import Tensor, nn


class CartPole:
    """Position, speed, angle and angular speed of the pole on its cart."""

    def __init__(self, seed: int = 0) -> None:
        self.random = random.Random(seed)

    def reset(self) -> list[float]:
        self.state = [self.random.uniform(-0.05, 0.05) for _ in range(4)]
        self.steps = 0
        return self.state

    def step(self, action: int) -> tuple[list[float], bool]:
        x, v, angle, spin = self.state
        force = 10.0 if action else -10.0
        cos, sin = math.cos(angle), math.sin(angle)
        push = (force + 0.05 * spin**2 * sin) / 1.1
        turn = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
        move = push - 0.05 * turn * cos / 1.1
        dt = 0.02
        self.state = [x + dt * v, v + dt * move, angle + dt * spin, spin + dt * turn]
        self.steps += 1
        fallen = abs(self.state[0]) > 2.4 or abs(self.state[2]) > math.radians(12)
        return self.state, fallen


class QNetwork(nn.Module):
    """The value of each action in a state."""

    def __init__(self, hidden: int = 64) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(4, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, 2),
        )

    def forward(self, states: Tensor) -> Tensor:
        return self.layers(states)


def batch_of(memory: deque[Any], size: int, pick: random.Random) -> tuple[Tensor, ...]:
    """Transitions drawn from the memory, as tensors."""
    states, actions, following, fallen = zip(*pick.sample(memory, size))
    return (
        ember.tensor(states),
        ember.tensor(actions),
        ember.tensor(following),
        ember.tensor(fallen),
    )


def loss_of(
    model: nn.Module, target: nn.Module, batch: Sequence[Tensor], discount: float = 0.99
) -> Tensor:
    states, actions, following, fallen = batch
    values = model(states).gather(1, actions.unsqueeze(1)).squeeze(1)
    with ember.no_grad():  # double Q: one network chooses, the other judges
        best = model(following).argmax(1, keepdim=True)
        future = target(following).gather(1, best).squeeze(1)
        wanted = 1 + discount * future * (~fallen)
    return F.smooth_l1_loss(values, wanted)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=150)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    ember.manual_seed(args.seed)
    pick = random.Random(args.seed)
    cart = CartPole(args.seed)
    model, target = QNetwork(), QNetwork()
    target.load_state_dict(model.state_dict())
    optimizer = ember.optim.Adam(model.parameters(), lr=args.lr)
    memory: deque[Any] = deque(maxlen=10000)
    lengths: deque[Any] = deque(maxlen=20)
    for episode in range(1, args.episodes + 1):
        state, fallen = cart.reset(), False
        chance = max(0.02, 0.9**episode)  # of a random action
        while not fallen and cart.steps < 500:
            action = pick.randrange(2)
            if pick.random() >= chance:
                with ember.no_grad():
                    action = int(model(ember.tensor([state])).argmax())
            following, fallen = cart.step(action)
            memory.append((state, action, following, fallen))
            state = following
            if len(memory) >= 500:
                loss = loss_of(model, target, batch_of(memory, args.batch_size, pick))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                with ember.no_grad():
                    for slow, fast in zip(target.parameters(), model.parameters()):
                        slow.lerp_(fast, 0.01)
        lengths.append(cart.steps)
        if episode % 10 == 0:
            mean = sum(lengths) / len(lengths)
            print(f"episode {episode:4}  mean length of the last 20: {mean:.0f}")


if __name__ == "__main__":
    main()
