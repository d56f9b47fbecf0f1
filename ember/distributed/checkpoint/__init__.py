"""Checkpoints that several processes write and read together.

Every rank writes its part, what all have is written once, and a checkpoint can be read
by another number of ranks, or by PyTorch, whose format it is.

>>> import ember, tempfile
>>> import ember.distributed.checkpoint as dcp
>>> folder, net = tempfile.mkdtemp(), ember.nn.Linear(2, 1)
>>> metadata = dcp.save({"net": net.state_dict()}, checkpoint_id=folder, no_dist=True)
>>> found = {"net": ember.nn.Linear(2, 1).state_dict()}
>>> dcp.load(found, checkpoint_id=folder, no_dist=True)
>>> ember.equal(found["net"]["weight"], net.weight)
True

What is to be written or read is a *plan* (`planner.py`), made by `default_planner.py`;
files are `filesystem.py`'s, the course of saving is in `state_dict_saver.py`, that of
loading in `state_dict_loader.py`.
"""

from ember import _lazy, _unavailable
from ember.distributed.checkpoint.api import CheckpointException as CheckpointException
from ember.distributed.checkpoint.default_planner import (
    DefaultLoadPlanner as DefaultLoadPlanner,
    DefaultSavePlanner as DefaultSavePlanner,
)
from ember.distributed.checkpoint.filesystem import (
    FileSystemReader as FileSystemReader,
    FileSystemWriter as FileSystemWriter,
)
from ember.distributed.checkpoint.metadata import (
    BytesStorageMetadata as BytesStorageMetadata,
    ChunkStorageMetadata as ChunkStorageMetadata,
    Metadata as Metadata,
    TensorStorageMetadata as TensorStorageMetadata,
)
from ember.distributed.checkpoint.planner import (
    LoadPlan as LoadPlan,
    LoadPlanner as LoadPlanner,
    ReadItem as ReadItem,
    SavePlan as SavePlan,
    SavePlanner as SavePlanner,
    WriteItem as WriteItem,
)
from ember.distributed.checkpoint.state_dict_loader import (
    load as load,
    load_state_dict as load_state_dict,
)
from ember.distributed.checkpoint.state_dict_saver import (
    async_save as async_save,
    save as save,
    save_state_dict as save_state_dict,
)
from ember.distributed.checkpoint.storage import (
    StorageReader as StorageReader,
    StorageWriter as StorageWriter,
)

__all__ = """BytesStorageMetadata CheckpointException ChunkStorageMetadata
    DefaultLoadPlanner DefaultSavePlanner FileSystemReader FileSystemWriter LoadPlan
    LoadPlanner Metadata ReadItem SavePlan SavePlanner StorageReader StorageWriter
    TensorStorageMetadata WriteItem async_save load load_state_dict save
    save_state_dict""".split()
_unavailable.fill(
    globals(),
    "distributed.checkpoint",
    "use save and load with a folder, or format_utils.dcp_to_torch_save",
    """HuggingFaceStorageReader HuggingFaceStorageWriter
    QuantizedHuggingFaceStorageReader load_sharded_optimizer_state_dict""",
)
__getattr__ = _lazy.missing(__name__)
