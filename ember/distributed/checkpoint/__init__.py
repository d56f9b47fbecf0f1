"""Checkpoints that several processes write and read: the names; see `ember.save`."""

from ember import _lazy, _unavailable

_unavailable.fill(
    globals(),
    "distributed.checkpoint",
    "ember computes in one process; use ember.save and ember.load",
    """BytesStorageMetadata ChunkStorageMetadata
    DefaultLoadPlanner DefaultSavePlanner FileSystemReader FileSystemWriter
    HuggingFaceStorageReader HuggingFaceStorageWriter LoadPlan LoadPlanner Metadata
    QuantizedHuggingFaceStorageReader ReadItem SavePlan SavePlanner StorageReader
    StorageWriter TensorStorageMetadata WriteItem async_save load
    load_sharded_optimizer_state_dict load_state_dict save save_state_dict""",
)


class CheckpointException(BaseException):
    """What went wrong, by process."""

    def __init__(self, msg: str, failures: dict) -> None:
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self) -> dict:
        """Process -> its error."""
        return self._failures


__getattr__ = _lazy.missing(__name__)
