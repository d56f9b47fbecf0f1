"""torchinfo: what a model consists of."""

import torch
import torchinfo

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3, padding=1),
    torch.nn.BatchNorm2d(8),
    torch.nn.ReLU(),
    torch.nn.MaxPool2d(2),
    torch.nn.Flatten(),
    torch.nn.Linear(8 * 64, 10),
)
found = torchinfo.summary(model, input_size=(2, 3, 16, 16), verbose=0)
print(f"parameters {found.total_params} {found.trainable_params}")
print(f"operations {found.total_mult_adds}")
print(f"bytes {found.total_output_bytes} {found.total_param_bytes}")
large = torchinfo.summary(model, input_data=torch.zeros(400, 3, 16, 16), verbose=0)
print(f"megabytes of input {large.total_input / 1e6:.3f}")
print(f"layers {len(found.summary_list)}")
print(f"lines {len(str(found).splitlines())}")
network = torch.nn.LSTM(4, 8, num_layers=2)
found = torchinfo.summary(network, input_size=(5, 2, 4), verbose=0)
print(f"recurrent {found.total_params} {found.total_mult_adds}")
x = torch.randn(2, 3, 16, 16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss = torch.nn.functional.cross_entropy(model(x), torch.tensor([1, 2]))
loss.backward()
optimizer.step()
print(f"loss {loss.item():.6g}")
