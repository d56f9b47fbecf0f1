"""TabNet on a table: fit, explain, save."""

import os
import tempfile
import warnings

import numpy as np
from pytorch_tabnet.tab_model import TabNetClassifier

warnings.filterwarnings("ignore")


def say(name, *values):
    sums = [np.abs(np.asarray(v, dtype="float64")).sum() for v in values]
    print(name, *(f"{v:.6g}" for v in sums))


numbers = np.random.default_rng(0)
x = numbers.random((128, 6)).astype("float32")
y = (x.sum(1) > 3).astype(int)
sizes = {"n_d": 8, "n_a": 8, "n_steps": 3, "seed": 0, "verbose": 0}
steps = {"max_epochs": 3, "batch_size": 64, "virtual_batch_size": 32}
model = TabNetClassifier(device_name="cpu", **sizes)
model.fit(x, y, eval_set=[(x, y)], **steps)
say("classes", model.predict_proba(x)[:, 0], model.history["loss"])
say("importance", model.feature_importances_[:3], model.explain(x[:5])[0])
path = model.save_model(os.path.join(tempfile.mkdtemp(), "model"))
loaded = TabNetClassifier(device_name="cpu")
loaded.load_model(path)
say("loaded", loaded.predict_proba(x)[:, 0])
