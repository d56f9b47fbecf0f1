"""PPO on CartPole with advantages, replay and a Q-network."""

import torch
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer
from torchrl.envs import GymEnv, StepCounter, TransformedEnv
from torchrl.modules import (
    MLP,
    OneHotCategorical,
    ProbabilisticActor,
    QValueActor,
    ValueOperator,
)
from torchrl.objectives import ClipPPOLoss, DQNLoss, SoftUpdate
from torchrl.objectives.value import GAE


def say(name, *values):
    print(name, *(f"{float(v):.6g}" for v in values))


torch.manual_seed(0)
env = TransformedEnv(GymEnv("CartPole-v1"), StepCounter(50))
env.set_seed(0)
net = MLP(4, 2, num_cells=[16], activation_class=nn.Tanh)
actor = ProbabilisticActor(
    TensorDictModule(net, ["observation"], ["logits"]),
    in_keys=["logits"],
    distribution_class=OneHotCategorical,
    return_log_prob=True,
    spec=env.action_spec,
)
critic = ValueOperator(MLP(4, 1, num_cells=[16]), in_keys=["observation"])
objective = ClipPPOLoss(actor, critic, entropy_coeff=0.01)
advantages = GAE(gamma=0.99, lmbda=0.95, value_network=critic)
optimizer = torch.optim.Adam(objective.parameters(), lr=1e-3)
replay = TensorDictReplayBuffer(storage=LazyTensorStorage(64), batch_size=32)
steps = Collector(env, actor, frames_per_batch=64, total_frames=192)
for i, data in enumerate(steps):
    with torch.no_grad():
        advantages(data)
    replay.extend(data.reshape(-1))
    batch = replay.sample()
    losses = objective(batch)
    parts = [losses[f"loss_{n}"] for n in ("objective", "critic", "entropy")]
    optimizer.zero_grad()
    sum(parts).backward()
    optimizer.step()
    say(f"ppo {i}", *parts, data["advantage"].abs().sum())

values = QValueActor(
    MLP(4, 2, num_cells=[8]), in_keys=["observation"], spec=env.action_spec
)
objective = DQNLoss(values, action_space="one_hot")
objective.make_value_estimator(gamma=0.9)
target = SoftUpdate(objective, eps=0.9)
optimizer = torch.optim.Adam(objective.parameters(), lr=1e-2)
for i in range(3):
    loss = objective(batch)["loss"]
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    target.step()
    say(f"q {i}", loss)
