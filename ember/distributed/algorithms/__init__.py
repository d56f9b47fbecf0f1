"""Ways to communicate in training: hooks of `DistributedDataParallel`, `Join`."""
