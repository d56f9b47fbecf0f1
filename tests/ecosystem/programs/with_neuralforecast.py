"""Nine networks that forecast, through its trainer."""

import logging

import numpy as np
import pandas as pd
from neuralforecast import NeuralForecast, models

logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
days = list(pd.date_range("2020", periods=60))
waves = np.sin(np.arange(120) / 5).astype("float32")
data = pd.DataFrame({"unique_id": ["a"] * 60 + ["b"] * 60, "ds": days * 2, "y": waves})
options = {
    "h": 6,
    "input_size": 12,
    "max_steps": 3,
    "enable_progress_bar": False,
    "enable_model_summary": False,
    "logger": False,
    "accelerator": "cpu",
    "random_seed": 1,
}
small = {"hidden_size": 16, "n_heads": 4}
forecast = NeuralForecast(
    [
        models.NHITS(**options),
        models.NBEATS(**options),
        models.MLP(**options),
        models.LSTM(encoder_hidden_size=8, **options),
        models.PatchTST(encoder_layers=1, patch_len=4, stride=2, **small, **options),
        models.DeepAR(lstm_hidden_size=8, **options),
        models.TFT(hidden_size=8, **options),
        models.iTransformer(n_series=2, **small, **options),
        models.TSMixer(n_series=2, **options),
    ],
    freq="D",
)
forecast.fit(data)
found = forecast.predict()
for name in found.columns[2:]:
    numbers = found[name].to_numpy().astype("float64")
    print(f"{name.lower().replace('-', ' ')} is", f"{np.abs(numbers).sum():.6g}")
