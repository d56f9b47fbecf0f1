"""skorch: a network as an estimator of scikit-learn's."""

import pickle

import numpy as np
import torch
from sklearn.model_selection import GridSearchCV
from skorch import NeuralNetClassifier, NeuralNetRegressor
from skorch.callbacks import EpochScoring, LRScheduler
from torch import nn

torch.manual_seed(0)
rng = np.random.default_rng(0)
x = rng.standard_normal((80, 5)).astype(np.float32)
y = (x.sum(1) > 0).astype(np.int64)


class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(5, width), nn.ReLU(), nn.Linear(width, 2), nn.Softmax(-1)
        )

    def forward(self, x):
        return self.net(x)


model = NeuralNetClassifier(
    Net,
    max_epochs=5,
    lr=0.1,
    verbose=0,
    iterator_train__shuffle=True,
    callbacks=[EpochScoring("roc_auc", lower_is_better=False), LRScheduler()],
)
model.fit(x, y)
for row in model.history:
    print(f"epoch {row['epoch']} {row['train_loss']:.6g} {row['valid_loss']:.6g}")
print(f"probabilities {model.predict_proba(x)[:, 1].sum():.6g}")
print(f"score {model.score(x, y):.6g}")
again = pickle.loads(pickle.dumps(model))
print(f"pickled {again.predict_proba(x)[:, 1].sum():.6g}")
torch.manual_seed(1)
search = GridSearchCV(
    NeuralNetClassifier(Net, max_epochs=2, verbose=0, train_split=None),
    {"lr": [0.01, 0.2], "module__width": [4]},
    cv=2,
    scoring="neg_log_loss",
)
search.fit(x, y)
print(f"search {search.best_score_:.6g} {search.best_params_['lr']}")
torch.manual_seed(2)
line = NeuralNetRegressor(nn.Linear(5, 1), max_epochs=4, lr=0.05, verbose=0)
line.fit(x, x.sum(1, keepdims=True))
print(f"regression {line.history[-1]['train_loss']:.6g}")
