"""Where PyTorch keeps the parts of its DataLoader that programs reach for."""

from ember.utils.data._utils import collate, worker
