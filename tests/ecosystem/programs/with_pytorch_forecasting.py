"""pytorch-forecasting: a data set, a model, losses."""

import warnings

import numpy as np
import pandas as pd
import torch
from pytorch_forecasting import TemporalFusionTransformer, TimeSeriesDataSet
from pytorch_forecasting.metrics import MAE, SMAPE, QuantileLoss

warnings.simplefilter("ignore")
torch.manual_seed(0)
steps = np.arange(30)
frame = pd.concat(
    pd.DataFrame({"time": steps, "value": np.sin(steps / 3 + i) + i, "group": str(i)})
    for i in range(4)
)
data = TimeSeriesDataSet(
    frame.reset_index(drop=True),
    time_idx="time",
    target="value",
    group_ids=["group"],
    max_encoder_length=8,
    max_prediction_length=3,
    time_varying_unknown_reals=["value"],
    time_varying_known_reals=["time"],
    static_categoricals=["group"],
)
loader = data.to_dataloader(train=False, batch_size=16, num_workers=0)
model = TemporalFusionTransformer.from_dataset(
    data, hidden_size=8, attention_head_size=2, dropout=0.0, loss=QuantileLoss()
)
x, y = next(iter(loader))
print(f"data {len(data)} {x['encoder_cont'].abs().sum().item():.6g}")
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(3):
    out = model(x)["prediction"]
    loss = model.loss(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {step} {loss.item():.6g}")
model.eval()
with torch.no_grad():
    out = model(x)["prediction"]
print(f"predicted {out.sum().item():.6g}")
for kind in (MAE, SMAPE):
    print(f"{kind.__name__.lower()} {kind()(out[..., 3], y).item():.6g}")
