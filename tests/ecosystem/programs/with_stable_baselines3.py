"""stable-baselines3: PPO, A2C and DQN on CartPole."""

import tempfile
from pathlib import Path

import torch
from stable_baselines3 import A2C, DQN, PPO

torch.set_num_threads(1)
model = PPO("MlpPolicy", "CartPole-v1", n_steps=64, batch_size=32, n_epochs=2, seed=0)
model.learn(128)
state = model.env.reset()
values = model.policy.predict_values(torch.zeros(1, 4))
print(f"ppo {values.item():.5g}")
total = sum(p.detach().abs().sum().item() for p in model.policy.parameters())
print(f"ppo weights {total:.6g}")
with tempfile.TemporaryDirectory() as folder:
    path = str(Path(folder, "ppo"))
    model.save(path)
    again = PPO.load(path)
    print(f"loaded {again.policy.predict_values(torch.zeros(1, 4)).item():.5g}")
model = A2C("MlpPolicy", "CartPole-v1", seed=0)
model.learn(20)
print(f"a2c {model.policy.predict_values(torch.zeros(1, 4)).item():.5g}")
model = DQN("MlpPolicy", "CartPole-v1", seed=0, learning_starts=20, buffer_size=200)
model.learn(60)
print(f"dqn {model.q_net(torch.zeros(1, 4)).abs().sum().item():.5g}")
action, _ = model.predict([[0.0, 0.1, 0.0, -0.1]], deterministic=True)
print(f"action {int(action[0])}")
