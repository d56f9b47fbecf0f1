"""Hooks that average: in full, or in half precision to send half as much."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ember
import ember.distributed as dist
from ember import Tensor
from ember.distributed._reducer import GradBucket
from ember.futures import Future

Hook = Callable[[Any, GradBucket], Future]


def _group(given: Any) -> Any:
    return given if given is not None else dist._get_default_group()


def _average(group: Any, buffer: Tensor) -> Future:
    """A future of the average of `buffer`, which it is written to."""
    work = group.allreduce([buffer], dist.ReduceOp.AVG)
    return work.get_future().then(lambda done: done.value()[0])


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Future:
    """What happens without a hook: the average over the ranks."""
    return _average(_group(process_group), bucket.buffer())


def _compress(dtype: ember.dtype, group: Any, bucket: GradBucket) -> Future:
    buffer = bucket.buffer()
    average = _average(_group(group), buffer.to(dtype))
    return average.then(lambda done: buffer.copy_(done.value()))


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Future:
    """Gradients travel as float16."""
    return _compress(ember.float16, process_group, bucket)


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Future:
    """Gradients travel as bfloat16."""
    return _compress(ember.bfloat16, process_group, bucket)


def noop_hook(_: Any, bucket: GradBucket) -> Future:
    """No communication: every rank keeps its gradients. For measuring its cost."""
    future: Future = Future()
    future.set_result(bucket.buffer())
    return future


def _wrap(dtype: ember.dtype, hook: Hook) -> Hook:
    def compressed(state: Any, bucket: GradBucket) -> Future:
        buffer = bucket.buffer()
        bucket.set_buffer(buffer.to(dtype))
        return hook(state, bucket).then(lambda done: buffer.copy_(_first(done.value())))

    return compressed


def _first(value: Any) -> Tensor:
    return value[0] if isinstance(value, (list, tuple)) else value


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """`hook` on gradients in float16."""
    return _wrap(ember.float16, hook)


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """`hook` on gradients in bfloat16."""
    return _wrap(ember.bfloat16, hook)
