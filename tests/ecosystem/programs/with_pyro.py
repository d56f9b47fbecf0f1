"""pyro: variational inference and Hamiltonian Monte Carlo."""

import pyro
import pyro.distributions as dist
import torch
from pyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO
from pyro.infer.autoguide import AutoNormal

pyro.set_rng_seed(0)
x = torch.linspace(-1, 1, 20)
y = 2 * x + 0.5 + 0.1 * torch.randn(20)


def model(x, y=None):
    slope = pyro.sample("slope", dist.Normal(0.0, 5.0))
    shift = pyro.sample("shift", dist.Normal(0.0, 5.0))
    noise = pyro.sample("noise", dist.HalfNormal(1.0))
    with pyro.plate("data", len(x)):
        return pyro.sample("y", dist.Normal(slope * x + shift, noise), obs=y)


guide = AutoNormal(model)
inference = SVI(model, guide, pyro.optim.Adam({"lr": 0.05}), Trace_ELBO())
for step in range(60):
    loss = inference.step(x, y)
    if step % 20 == 0:
        print(f"loss {step} {loss:.6g}")
median = guide.median()
print("median", *(f"{median[name].item():.5g}" for name in ("slope", "shift", "noise")))
found = Predictive(model, guide=guide, num_samples=20)(x)
print(f"predicted {found['y'].mean().item():.5g}")
for name, value in sorted(pyro.get_param_store().items()):
    print(f"param {name.replace('.', ' ').lower()} {value.item():.5g}")

pyro.clear_param_store()
pyro.set_rng_seed(1)


def coin(flips):
    fairness = pyro.sample("fairness", dist.Beta(2.0, 2.0))
    with pyro.plate("flips", len(flips)):
        pyro.sample("flip", dist.Bernoulli(fairness), obs=flips)


chain = MCMC(NUTS(coin), num_samples=30, warmup_steps=20, disable_progbar=True)
chain.run(torch.tensor([1.0, 1, 1, 0, 1, 1, 0, 1]))
print(f"nuts {chain.get_samples()['fairness'].mean().item():.4g}")
