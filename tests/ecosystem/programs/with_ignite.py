"""Engines, handlers and metrics of Ignite."""

import tempfile

import torch
from ignite.engine import (
    Events,
    create_supervised_evaluator,
    create_supervised_trainer,
)
from ignite.handlers import (
    ModelCheckpoint,
    PiecewiseLinear,
)
from ignite.metrics import (
    Accuracy,
    Fbeta,
    Loss,
    Precision,
    Recall,
    RunningAverage,
    TopKCategoricalAccuracy,
)
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 8)
y = (x.sum(1) > 0).long()
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
criterion = nn.CrossEntropyLoss()
trainer = create_supervised_trainer(model, optimizer, criterion)
metrics = {
    "accuracy": Accuracy(),
    "nll": Loss(criterion),
    "precision": Precision(average=True),
    "recall": Recall(average=True),
    "f": Fbeta(1),
    "top": TopKCategoricalAccuracy(1),
}
evaluator = create_supervised_evaluator(model, metrics=metrics)
RunningAverage(output_transform=lambda v: v).attach(trainer, "running")
loader = DataLoader(TensorDataset(x, y), batch_size=16)
scheduler = PiecewiseLinear(optimizer, "lr", [(0, 0.1), (12, 0.01)])
trainer.add_event_handler(Events.ITERATION_STARTED, scheduler)
folder = tempfile.mkdtemp()
evaluator.add_event_handler(
    Events.COMPLETED,
    ModelCheckpoint(
        folder,
        "best",
        n_saved=1,
        score_function=lambda e: e.state.metrics["accuracy"],
        require_empty=False,
    ),
    {"model": model},
)


@trainer.on(Events.EPOCH_COMPLETED)
def log(engine):
    evaluator.run(loader)
    m = evaluator.state.metrics
    print(f"epoch {engine.state.epoch} running {engine.state.metrics['running']:.6g}")
    for k in sorted(m):
        print(f"epoch {engine.state.epoch} {k} {float(m[k]):.6g}")


trainer.run(loader, max_epochs=3)
