"""gpytorch: a Gaussian process, exact and variational."""

import gpytorch
import torch

torch.manual_seed(0)
x = torch.linspace(0, 1, 20)
y = torch.sin(6 * x) + 0.1 * torch.randn(20)


class Process(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean = gpytorch.means.ConstantMean()
        self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))


likelihood = gpytorch.likelihoods.GaussianLikelihood()
model = Process(x, y, likelihood)
model.train()
likelihood.train()
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
for step in range(20):
    optimizer.zero_grad()
    loss = -objective(model(x), y)
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print(f"loss {step} {loss.item():.6g}")
model.eval()
likelihood.eval()
with torch.no_grad(), gpytorch.settings.fast_pred_var():
    found = likelihood(model(torch.tensor([0.25, 0.55, 1.2])))
print("mean", *(f"{v:.5g}" for v in found.mean.tolist()))
print("variance", *(f"{v:.5g}" for v in found.variance.tolist()))
print(f"length {model.kernel.base_kernel.lengthscale.item():.6g}")


class Variational(gpytorch.models.ApproximateGP):
    def __init__(self, points):
        distribution = gpytorch.variational.CholeskyVariationalDistribution(len(points))
        strategy = gpytorch.variational.VariationalStrategy(self, points, distribution)
        super().__init__(strategy)
        self.mean = gpytorch.means.ZeroMean()
        self.kernel = gpytorch.kernels.MaternKernel(nu=2.5)

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))


torch.manual_seed(1)
model = Variational(x[::4, None].clone())
likelihood = gpytorch.likelihoods.GaussianLikelihood()
objective = gpytorch.mlls.VariationalELBO(likelihood, model, 20)
both = [*model.parameters(), *likelihood.parameters()]
optimizer = torch.optim.Adam(both, lr=0.05)
for _ in range(10):
    optimizer.zero_grad()
    loss = -objective(model(x[:, None]), y)
    loss.backward()
    optimizer.step()
print(f"variational {loss.item():.5g}")
