"""Speed and memory of ember beside torch, in one run: `python -m benchmarks`."""
