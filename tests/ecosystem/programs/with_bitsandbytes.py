"""Weights of 4 and 8 bits on the processor."""

import bitsandbytes as bnb
import torch


def say(name, *values):
    sums = [v.detach().double().abs().sum().item() for v in values]
    print(name, *(f"{v:.6g}" for v in sums))


torch.manual_seed(0)
weight = torch.randn(64, 64)
for kind in ("nf4", "fp4"):
    packed, state = bnb.functional.quantize_4bit(weight, quant_type=kind)
    found = bnb.functional.dequantize_4bit(packed, state)
    say(f"four bits {kind}", packed, found, found - weight)
packed, state = bnb.functional.quantize_blockwise(weight)
say("eight bits", packed, bnb.functional.dequantize_blockwise(packed, state))

x = torch.randn(3, 64, requires_grad=True)
layer = bnb.nn.Linear4bit(64, 32, quant_type="nf4").to("cpu")
out = layer(x)
out.sum().backward()
say("linear", out, x.grad)
optimizer = bnb.optim.Lion([weight.requires_grad_()], lr=1e-2)
print("optimizer", len(optimizer.param_groups))
