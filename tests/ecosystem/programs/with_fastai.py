"""A Learner on tensors."""

import fastai.callback.progress
import fastai.callback.schedule
import torch
from fastai.data.core import DataLoaders
from fastai.data.load import DataLoader
from fastai.learner import Learner
from fastai.losses import LabelSmoothingCrossEntropy
from fastai.metrics import accuracy
from fastai.optimizer import Adam, ranger
from fastai.torch_core import TensorImage
from torch import nn
from torch.utils.data import TensorDataset

print(f"bar {hasattr(fastai.callback.progress, 'ProgressCallback'):d}")
torch.manual_seed(0)
x = torch.randn(64, 8)
y = (x.sum(1) > 0).long()
ds = TensorDataset(x, y)
dls = DataLoaders(DataLoader(ds, bs=16), DataLoader(ds, bs=16))
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
learn = Learner(
    dls, model, loss_func=nn.CrossEntropyLoss(), metrics=accuracy, opt_func=Adam
)
with learn.no_bar(), learn.no_logging():
    learn.fit_one_cycle(3, 1e-2)
for i, row in enumerate(learn.recorder.values):
    print(f"epoch {i} {row[0]:.6g} {row[1]:.6g} {row[2]:.6g}")

v = learn.validate()
print(f"validate {v[0]:.6g} {v[1]:.6g}")
l2 = Learner(dls, model, loss_func=LabelSmoothingCrossEntropy(), opt_func=ranger)
with l2.no_bar(), l2.no_logging():
    l2.fit_flat_cos(1, 1e-2)
print(f"ranger {l2.recorder.values[0][0]:.6g}")

ti = TensorImage(torch.rand(3, 4, 4))
print(f"image {(ti * 2).sum().item():.6g} {type(ti * 2).__name__ == 'TensorImage':d}")
