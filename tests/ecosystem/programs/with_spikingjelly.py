"""spikingjelly: spiking networks, step by step and over all steps at once."""

import torch
from spikingjelly.activation_based import encoding, functional, layer, neuron, surrogate
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(
    layer.Conv2d(1, 4, 3, padding=1),
    layer.BatchNorm2d(4),
    neuron.LIFNode(tau=2.0, surrogate_function=surrogate.ATan()),
    layer.MaxPool2d(2),
    layer.Flatten(),
    layer.Linear(4 * 16, 10),
    neuron.IFNode(surrogate_function=surrogate.Sigmoid()),
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(4):
    x, y = torch.rand(5, 1, 8, 8), torch.randint(0, 10, (5,))
    rate = sum(model(x) for _ in range(4)) / 4
    loss = nn.functional.mse_loss(rate, nn.functional.one_hot(y, 10).float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    functional.reset_net(model)
    print(f"loss {step} {loss.item():.6g} spikes {rate.sum().item():.6g}")
functional.set_step_mode(model, "m")
out = model(torch.rand(4, 5, 1, 8, 8))
print(f"steps {out.shape[0]} {out.mean().item():.6g}")
for Node in (neuron.ParametricLIFNode, neuron.QIFNode, neuron.EIFNode):
    node = Node()
    spikes = [node(torch.full((3,), 1.5)).sum().item() for _ in range(4)]
    print("node", Node.__name__[:3].lower(), *(f"{s:g}" for s in spikes))
encoder = encoding.PoissonEncoder()
print(f"poisson {encoder(torch.full((100,), 0.3)).sum().item():g}")
