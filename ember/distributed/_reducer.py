"""Gradients averaged over the ranks while the backward pass goes on.

Parameters lie in buckets, the last of the model first, as their gradients come in about
that order. A bucket is one flat tensor with the gradients as views of it. When the last
gradient of a bucket has come, its all-reduce begins; buckets begin in the same order on
every rank. When all have begun, the backward pass ends by waiting for them. A sparse
gradient has a bucket of its own and is reduced as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any

import ember
from ember import _C, Tensor
from ember.distributed._group import ProcessGroup
from ember.distributed._options import RedOpType
from ember.distributed._work import Work
from ember.futures import Future

FIRST_BYTES = 1 << 20  # a small first bucket, so that communication begins early
_UNFINISHED = (
    "Expected to have finished reduction in the prior iteration before starting a new "
    "one. This error indicates that your module has parameters that were not used in "
    "producing loss. You can enable unused parameter detection by passing the keyword "
    "argument `find_unused_parameters=True` to "
    "`torch.nn.parallel.DistributedDataParallel`, and by making sure all `forward` "
    "function outputs participate in calculating loss."
)
_TWICE = (
    "Expected to mark a variable ready only once. This error is caused by one of the "
    "following reasons: 1) use of a module parameter outside the `forward` function; "
    "2) reused parameters in multiple reentrant backward passes, for example by "
    "several `checkpoint` functions around one part of the model. If the graph is the "
    "same in every iteration, pass `static_graph=True`."
)


class Bucket:
    """Parameters whose gradients are reduced together; one if it is sparse."""

    def __init__(
        self, index: int, numbers: list[int], params: list[Tensor], sparse: bool
    ) -> None:
        self.index, self.numbers, self.params = index, numbers, params
        self.sparse = sparse
        self.missing = 0
        self.work: Work | Future | None = None
        if sparse:
            self.put(0, None)
            return
        sizes = [p.numel() for p in params]
        self.flat = ember.zeros(
            sum(sizes), dtype=params[0].dtype, device=params[0].device
        )
        self.views = [
            part.view(p.shape) for part, p in zip(self.flat.split(sizes), params)
        ]

    @ember.no_grad()
    def put(self, at: int, grad: Tensor | None) -> None:
        """Take over the gradient of a parameter; None is zero."""
        if self.sparse:
            p = self.params[at]
            if grad is None:
                nothing = p.new_zeros((0, *p.shape[1:]))
                where = ember.empty(1, 0, dtype=ember.int64, device=p.device)
                self.flat = ember.sparse_coo_tensor(where, nothing, p.shape)
            elif not grad.is_sparse:
                raise RuntimeError(
                    f"DistributedDataParallel: parameter {self.numbers[at]} has sparse "
                    "gradients by its module, and got a dense one"
                )
            else:
                self.flat = grad.detach().coalesce().clone()
            self.views = [self.flat]
            return
        view = self.views[at]
        if grad is None:
            view.zero_()
        elif grad.is_sparse:
            raise RuntimeError(
                f"DistributedDataParallel: parameter {self.numbers[at]} got a sparse "
                "gradient, which only Embedding and EmbeddingBag may have"
            )
        elif grad.data_ptr() != view.data_ptr() or not view.numel():
            view.copy_(grad)


class GradBucket:
    """A bucket as a communication hook sees it."""

    def __init__(self, bucket: Bucket, last: bool) -> None:
        self._bucket, self._last = bucket, last
        self._buffer = bucket.flat

    def index(self) -> int:
        """Which bucket it is, in the order of their reductions."""
        return self._bucket.index

    def buffer(self) -> Tensor:
        """The gradients of this rank, one after the other."""
        return self._buffer

    def gradients(self) -> list[Tensor]:
        """The gradients, each in its shape, as views of the buffer."""
        return list(self._bucket.views)

    def parameters(self) -> list[Tensor]:
        """The parameters that they belong to."""
        return list(self._bucket.params)

    def is_last(self) -> bool:
        """Whether it is the last bucket of the pass."""
        return self._last

    def set_buffer(self, buffer: Tensor) -> None:
        """Let the hooks that follow see `buffer`, which may be of another dtype."""
        self._buffer = buffer


def share_out(
    params: Sequence[Tensor],
    bytes_: int,
    first_bytes: int = FIRST_BYTES,
    sparse: Container[int] = (),
) -> list[list[int]]:
    """Numbers of parameters by bucket, from the last parameter to the first. Those in
    `sparse` are alone."""
    open_: dict[Any, tuple[list[int], int]] = {}
    done: list[list[int]] = []
    for number in reversed(range(len(params))):
        if number in sparse:
            done.append([number])
            continue
        p = params[number]
        kind = p.dtype, p.device
        numbers, size = open_.get(kind, ([], 0))
        numbers.append(number)
        size += p.numel() * p.element_size()
        if size >= (bytes_ if done else min(first_bytes, bytes_)):
            done.append(numbers)
            open_.pop(kind, None)
        else:
            open_[kind] = numbers, size
    return done + [numbers for numbers, _ in open_.values()]


class Reducer:
    """Averages the gradients of `params` over `group` in every backward pass that
    `prepare` announces."""

    def __init__(
        self,
        params: Sequence[Tensor],
        group: ProcessGroup,
        bucket_bytes: int,
        find_unused: bool,
        static_graph: bool,
        as_views: bool,
        sparse: Container[int] = (),
    ) -> None:
        """`as_views`: gradients are the buckets' own memory, else copies of it;
        `sparse`: numbers of parameters with sparse gradients."""
        self.params, self.group, self.as_views = list(params), group, as_views
        self.find_unused, self.static_graph = find_unused, static_graph
        self.buckets = [
            Bucket(
                index, numbers, [self.params[n] for n in numbers], numbers[0] in sparse
            )
            for index, numbers in enumerate(
                share_out(self.params, bucket_bytes, sparse=sparse)
            )
        ]
        self.place = {
            number: (bucket, at)
            for bucket in self.buckets
            for at, number in enumerate(bucket.numbers)
        }
        self.hook: Callable[[Any, GradBucket], Future] | None = None
        self.state: Any = None
        self.divisor = group.size()
        self.expecting = False  # a backward pass that is to be reduced
        self.finished = True
        self.queued = False  # the end of the pass is arranged for
        self.iterations = 0
        self.ready: set[int] = set()
        self.unused: list[int] = []  # to be ready with the first gradient
        self.fired: list[int] = [0] * len(self.params)
        self.expected: list[int] = [1] * len(self.params)  # of a static graph
        self.learning = static_graph
        for number, p in enumerate(self.params):
            p.register_post_accumulate_grad_hook(self._hook_of(number))

    def _hook_of(self, number: int) -> Callable[[Tensor], None]:
        def arrived(_: Tensor) -> None:
            if self.expecting:
                self._arrived(number)

        return arrived

    # --- a pass ---

    def prepare(self, outputs: Sequence[Tensor]) -> None:
        """Expect a backward pass from `outputs`, or none if nobody needs them."""
        if any(self.fired) and not self.finished:
            missing = [n for n, count in enumerate(self.fired) if not count]
            raise RuntimeError(
                f"{_UNFINISHED}\nParameter indices which did not receive grad for rank "
                f"{self.group.rank()}: {' '.join(map(str, missing))}"
            )
        self.begin()
        if self.learning:
            for t in outputs:
                if t.requires_grad:
                    t.register_hook(self._learn_at_the_end)
        elif self.static_graph:
            self.unused = [n for n, count in enumerate(self.expected) if not count]
        elif self.find_unused:
            reached = _leaves_of(outputs)
            self.unused = [n for n, p in enumerate(self.params) if id(p) not in reached]
            if len(self.unused) == len(self.params):  # no gradient will come
                self._mark_unused()
                self._finish()

    def begin(self) -> None:
        """Reset what is counted in a pass."""
        self.iterations += 1
        self.expecting, self.finished, self.queued = True, False, False
        self.next = 0
        self.fired = [0] * len(self.params)
        self.ready.clear()
        self.unused = []
        for bucket in self.buckets:
            bucket.missing = len(bucket.params)
            bucket.work = None

    def _arrived(self, number: int) -> None:
        self.fired[number] += 1
        if self.learning:
            return
        self._mark_unused()
        if self.fired[number] >= self.expected[number]:
            self._ready(number)
        if self.next == len(self.buckets) and not self.queued:
            self.queued = True
            _C._queue_callback(self._finish)

    def _mark_unused(self) -> None:
        unused, self.unused = self.unused, []
        for number in unused:
            self._ready(number)

    def _ready(self, number: int) -> None:
        """The gradient of this parameter is what it will be."""
        if number in self.ready:
            raise RuntimeError(f"{_TWICE}\nParameter at index {number}.")
        self.ready.add(number)
        bucket, at = self.place[number]
        bucket.put(at, self.params[number].grad)
        bucket.missing -= 1
        while self.next < len(self.buckets) and not self.buckets[self.next].missing:
            self.start(self.buckets[self.next])
            self.next += 1

    def _learn_at_the_end(self, _: Tensor) -> None:
        """The first pass of a static graph has begun. Its gradients may come several
        times, and in passes within it, so that only its end tells how often."""
        if self.learning and not self.queued:
            self.queued = True
            _C._queue_callback(self._learn)

    def _learn(self) -> None:
        self.expected = list(self.fired)
        self.learning = False
        for number in range(len(self.params)):
            self._ready(number)
        self._finish()

    def start(self, bucket: Bucket) -> None:
        """Begin to reduce a bucket."""
        if self.hook is None:
            if self.divisor != self.group.size():
                bucket.flat.div_(self.divisor / self.group.size())
            bucket.work = self.group.allreduce([bucket.flat], RedOpType.AVG)
        else:
            last = bucket.index == len(self.buckets) - 1
            bucket.work = self.hook(self.state, GradBucket(bucket, last))
            if not isinstance(bucket.work, Future):
                raise RuntimeError(
                    "callback must return a torch.futures.Future object, but got "
                    f"{type(bucket.work)}"
                )

    def _finish(self) -> None:
        """After the backward pass: wait, and let parameters have their gradients."""
        self.expecting = False
        self._take_averages()
        self.finished = True

    def _take_averages(self) -> None:
        everywhere = self._used_anywhere()
        for bucket in self.buckets:
            self.wait(bucket)
            for at, number in enumerate(bucket.numbers):
                if everywhere is None or everywhere[number]:
                    self._give(self.params[number], bucket.views[at])

    def _give(self, param: Tensor, reduced: Tensor) -> None:
        if reduced.is_sparse:
            param.grad = reduced.clone()
            return
        if param.grad is not None and param.grad.data_ptr() == reduced.data_ptr():
            return
        if self.as_views:
            param.grad = reduced
        elif param.grad is None:
            param.grad = reduced.clone()
        else:
            with ember.no_grad():
                param.grad.copy_(reduced)

    def _used_anywhere(self) -> list[int] | None:
        """By parameter, how many ranks used it; None if all did."""
        if not (self.find_unused or self.static_graph):
            return None
        used = ember.tensor([int(count > 0) for count in self.fired])
        if self.group.size() > 1:
            self.group.allreduce([used]).wait()
        return used.tolist()

    def wait(self, bucket: Bucket) -> None:
        """Until the bucket is reduced."""
        if isinstance(bucket.work, Work):
            bucket.work.wait()
        elif bucket.work is not None:
            result = bucket.work.wait()
            result = result[0] if isinstance(result, (list, tuple)) else result
            if bucket.sparse:
                bucket.flat, bucket.views = result, [result]
            elif result.data_ptr() != bucket.flat.data_ptr():
                with ember.no_grad():
                    bucket.flat.copy_(result.view_as(bucket.flat))
        bucket.work = None

    def shadow(self) -> None:
        """Take part in the reductions of the others, with gradients of zero. The
        parameters have the averages then, for optimizers that share their work."""
        for bucket in self.buckets:
            for at in range(len(bucket.params)):
                bucket.put(at, None)
            self.start(bucket)
        self.fired = [0] * len(self.params)
        self._take_averages()


def _leaves_of(outputs: Iterable[Tensor]) -> set[int]:
    """Identities of the leaves that the outputs were computed from."""
    found: set[int] = set()
    seen: set[Any] = set()
    ahead = []
    for t in outputs:
        if t.grad_fn is not None:
            ahead.append(t.grad_fn)
        elif t.requires_grad:
            found.add(id(t))
    while ahead:
        node = ahead.pop()
        if node in seen:
            continue
        seen.add(node)
        leaf = getattr(node, "variable", None)
        if leaf is not None:
            found.add(id(leaf))
        ahead.extend(next_ for next_, _ in node.next_functions if next_ is not None)
    return found
