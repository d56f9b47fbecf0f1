"""Losses and miners of embeddings."""

import torch
from pytorch_metric_learning import (
    losses,
    miners,
)

torch.manual_seed(0)
emb = torch.randn(24, 8, requires_grad=True)
labels = torch.arange(24) % 4
for name, args in (
    ("TripletMarginLoss", {}),
    ("ContrastiveLoss", {}),
    ("NTXentLoss", {}),
    ("SupConLoss", {}),
    ("MultiSimilarityLoss", {}),
    ("CircleLoss", {}),
    ("NPairsLoss", {}),
    ("AngularLoss", {}),
    ("LiftedStructureLoss", {}),
    ("FastAPLoss", {}),
    ("ArcFaceLoss", {"num_classes": 4, "embedding_size": 8}),
    ("CosFaceLoss", {"num_classes": 4, "embedding_size": 8}),
    ("ProxyNCALoss", {"num_classes": 4, "embedding_size": 8}),
    ("ProxyAnchorLoss", {"num_classes": 4, "embedding_size": 8}),
    ("SoftTripleLoss", {"num_classes": 4, "embedding_size": 8}),
    ("VICRegLoss", {}),
    ("SignalToNoiseRatioContrastiveLoss", {}),
    ("TupletMarginLoss", {}),
):
    torch.manual_seed(1)
    loss = getattr(losses, name)(**args)
    value = (
        loss(emb, ref_emb=emb.detach().flip(0))
        if name == "VICRegLoss"
        else loss(emb, labels)
    )
    (g,) = torch.autograd.grad(value, emb)
    print(f"{name.lower()} {value.item():.6g} {g.abs().sum().item():.6g}")
for miner in (
    miners.MultiSimilarityMiner(),
    miners.TripletMarginMiner(0.2, type_of_triplets="semihard"),
    miners.BatchHardMiner(),
    miners.PairMarginMiner(),
):
    found = miner(emb, labels)
    name = type(miner).__name__.lower()
    sizes = " ".join(str(len(part)) for part in found)
    loss = losses.TripletMarginLoss()(emb, labels, found)
    print(f"{name} {sizes} {loss.item():.6g}")
