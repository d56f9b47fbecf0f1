"""lightning: a module, a Trainer with callbacks and checkpoints."""

import logging
import tempfile
import warnings

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.simplefilter("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Net(L.LightningModule):
    def __init__(self, width=16, lr=1e-2):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, 1))

    def training_step(self, batch, index):
        x, y = batch
        loss = nn.functional.mse_loss(self.net(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, index):
        x, y = batch
        self.log("val_loss", nn.functional.mse_loss(self.net(x), y))

    def predict_step(self, batch, index):
        return self.net(batch[0])

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=self.hparams.lr)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)]


L.seed_everything(3, verbose=False)
x = torch.randn(64, 4)
y = x.sum(1, keepdim=True) + 0.1 * torch.randn(64, 1)
data = TensorDataset(x, y)
train = DataLoader(data, batch_size=16, shuffle=True)
validate = DataLoader(data, batch_size=32)
with tempfile.TemporaryDirectory() as folder:
    saver = L.pytorch.callbacks.ModelCheckpoint(folder, monitor="val_loss")
    trainer = L.Trainer(
        max_epochs=4,
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[saver],
        gradient_clip_val=1.0,
        default_root_dir=folder,
    )
    model = Net()
    trainer.fit(model, train, validate)
    for key in ("train_loss", "val_loss"):
        print(f"{key} {trainer.callback_metrics[key].item():.6g}")
    found = trainer.validate(model, validate, verbose=False)
    print(f"validated {found[0]['val_loss']:.6g}")
    again = Net.load_from_checkpoint(saver.best_model_path)
    print(f"loaded {again.net(x).sum().item():.6g} {again.hparams.width}")
    out = trainer.predict(again, validate)
    print(f"predicted {torch.cat(out).abs().sum().item():.6g}")

fabric = L.Fabric(accelerator="cpu", devices=1)
fabric.launch()
net = nn.Linear(4, 1)
net, optimizer = fabric.setup(net, torch.optim.SGD(net.parameters(), lr=0.1))
for _ in range(5):
    loss = nn.functional.mse_loss(net(x), y)
    optimizer.zero_grad()
    fabric.backward(loss)
    optimizer.step()
print(f"fabric {loss.item():.6g}")
