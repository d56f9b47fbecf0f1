"""torchmetrics: metrics of classes, numbers, texts and images."""

import torch
import torchmetrics
from torchmetrics import image, regression, text
from torchmetrics.functional import pairwise_cosine_similarity

torch.manual_seed(0)
scores = torch.rand(64, 5).softmax(1)
labels = torch.randint(0, 5, (64,))
collection = torchmetrics.MetricCollection(
    {
        "accuracy": torchmetrics.Accuracy(task="multiclass", num_classes=5),
        "auroc": torchmetrics.AUROC(task="multiclass", num_classes=5),
        "f1": torchmetrics.F1Score(task="multiclass", num_classes=5, average="macro"),
        "calibration": torchmetrics.CalibrationError(task="multiclass", num_classes=5),
        "kappa": torchmetrics.CohenKappa(task="multiclass", num_classes=5),
        "precision": torchmetrics.AveragePrecision(task="multiclass", num_classes=5),
    }
)
for half in (slice(0, 32), slice(32, 64)):
    collection.update(scores[half], labels[half])
for name, value in sorted(collection.compute().items()):
    print(f"{name} {value.item():.6g}")
matrix = torchmetrics.ConfusionMatrix(task="multiclass", num_classes=5)(scores, labels)
print("confusion", *matrix.flatten().tolist())
x, y = torch.randn(50), torch.randn(50)
for kind in ("MeanSquaredError", "PearsonCorrCoef", "SpearmanCorrCoef", "R2Score"):
    print(f"{kind.lower()} {getattr(regression, kind)()(x, y).item():.6g}")
a = torch.rand(2, 3, 32, 32)
b = (a + 0.1 * torch.rand(2, 3, 32, 32)).clamp(0, 1)
psnr = image.PeakSignalNoiseRatio(data_range=1.0)(a, b)
ssim = image.StructuralSimilarityIndexMeasure(data_range=1.0)(a, b)
print(f"image {psnr.item():.6g} {ssim.item():.6g}")
rate = text.WordErrorRate()(["a small cat"], ["the small cat"])
print(f"words {rate.item():.6g}")
print(f"cosine {pairwise_cosine_similarity(torch.randn(4, 3)).sum().item():.6g}")
mean = torchmetrics.MeanMetric()
for value in (1.0, 2.0, 6.0):
    mean.update(value)
state = mean.state_dict()
print(f"mean {mean.compute().item():.6g} {len(state)}")
