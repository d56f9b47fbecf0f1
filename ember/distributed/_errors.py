"""What goes wrong between processes."""


class DistError(RuntimeError):
    """Something went wrong between processes."""


class DistBackendError(DistError):
    """Something went wrong in a backend."""


class DistNetworkError(DistError):
    """Something went wrong on the way."""


class DistStoreError(DistError):
    """Something went wrong in a store."""


class QueueEmptyError(DistStoreError):
    """There is nothing in the queue."""
