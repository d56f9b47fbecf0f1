"""botorch: a model of a function and the next points to try."""

import torch
from botorch.acquisition import LogExpectedImprovement, UpperConfidenceBound
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
x = torch.rand(12, 2)
y = 1 - (x - 0.4).square().sum(1, keepdim=True)
model = SingleTaskGP(x, y)
objective = ExactMarginalLogLikelihood(model.likelihood, model)
before = objective(model(*model.train_inputs), model.train_targets).item()
print(f"before {before:.6g}")
fit_gpytorch_mll(objective)
model.eval()
at = torch.tensor([[0.4, 0.4], [0.9, 0.1]])
mean = model.posterior(at).mean
print("posterior", *(f"{v:.3g}" for v in mean.flatten().tolist()))
bound = UpperConfidenceBound(model, beta=0.1)
print(f"bound {bound(at[:1, None]).item():.3g}")
box = torch.stack([torch.zeros(2), torch.ones(2)])
point, _ = optimize_acqf(bound, bounds=box, q=1, num_restarts=4, raw_samples=32)
print("best", *(f"{v:.2g}" for v in point.flatten().tolist()))
improvement = LogExpectedImprovement(model, best_f=y.max())
print(f"improvement {improvement(at[:, None]).isfinite().all().item():d}")
samples = model.posterior(at).rsample(torch.Size([4]))
print(f"samples {samples.numel()}")
