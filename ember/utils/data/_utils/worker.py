"""What workers know about themselves."""

from ember import _lazy
from ember.utils.data._info import WorkerInfo, get_worker_info

__all__ = ["WorkerInfo", "get_worker_info"]


__getattr__ = _lazy.missing(__name__)
