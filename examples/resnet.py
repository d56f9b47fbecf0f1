"""ResNet-50 (arXiv:1512.03385), defined in full and trained for a few steps.

    python examples/resnet.py --steps 5 --size 64

The images are random: this shows the model and how long a step takes.
"""

import argparse
import time
from collections.abc import Sequence

import ember
import ember.nn.functional as F
from ember import Tensor, nn


class Bottleneck(nn.Module):
    """1x1, 3x3 and 1x1 convolutions around a shortcut."""

    expansion = 4

    def __init__(self, inputs: int, planes: int, stride: int = 1) -> None:
        super().__init__()
        outputs = planes * self.expansion
        self.conv1 = nn.Conv2d(inputs, planes, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.conv3 = nn.Conv2d(planes, outputs, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                nn.BatchNorm2d(outputs),
            )

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        return F.relu(self.bn3(self.conv3(x)) + shortcut)


class ResNet(nn.Module):
    """Four stages of bottlenecks; the names of the weights are torchvision's."""

    def __init__(
        self, blocks: Sequence[int], classes: int = 1000, width: int = 64
    ) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.inputs = width
        for i, count in enumerate(blocks):
            stage = self.stage(width * 2**i, count, stride=1 if i == 0 else 2)
            setattr(self, f"layer{i + 1}", stage)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(self.inputs, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")

    def stage(self, planes: int, count: int, stride: int) -> nn.Sequential:
        layers = []
        for i in range(count):
            layers.append(Bottleneck(self.inputs, planes, stride if i == 0 else 1))
            self.inputs = planes * Bottleneck.expansion
        return nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(F.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


def resnet50(classes: int = 1000) -> ResNet:
    return ResNet([3, 4, 6, 3], classes)


def loss_of(model: nn.Module, batch: Sequence[Tensor]) -> Tensor:
    images, labels = batch
    return F.cross_entropy(model(images), labels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--size", type=int, default=64, help="of the images")
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--lr", type=float, default=0.005)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    ember.manual_seed(args.seed)
    model = resnet50(args.classes)
    count = sum(p.numel() for p in model.parameters())
    print(f"ResNet-50 with {count / 1e6:.1f} million weights")
    images = ember.randn(args.batch_size, 3, args.size, args.size)
    labels = ember.randint(args.classes, (args.batch_size,))
    optimizer = ember.optim.SGD(
        model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4
    )
    for step in range(1, args.steps + 1):
        start = time.perf_counter()
        loss = loss_of(model, (images, labels))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seconds = time.perf_counter() - start
        print(f"step {step:3}  loss {loss.item():.4f}  {seconds:.2f} s")


if __name__ == "__main__":
    main()
