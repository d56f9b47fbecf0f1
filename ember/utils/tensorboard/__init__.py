"""Logs for TensorBoard, written without it.

>>> import tempfile
>>> from ember.utils.tensorboard import SummaryWriter
>>> with SummaryWriter(tempfile.mkdtemp()) as writer:
...     for step in range(3):
...         writer.add_scalar("loss", 1 / (step + 1), step)
"""

from ember.utils.tensorboard.writer import (
    FileWriter as FileWriter,
    SummaryWriter as SummaryWriter,
)
