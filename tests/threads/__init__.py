"""Several Python threads at once. `make tsan` runs these under the thread sanitizer.

Large tensors are more than a grain, so that kernels give up the GIL and other threads
run in the middle of an op; small ones stay under it. Threads share what a program may
share: tensors that nobody writes, disjoint parts of one tensor, leaves, graphs, caches.
"""

import threading

LARGE = 70_000  # more than two grains
SECONDS = 200  # a thread that takes longer hangs


def at_once(*jobs):
    """Runs the jobs in threads that start together; raises what one of them raised."""
    barrier, errors = threading.Barrier(len(jobs)), []

    def run(job):
        try:
            barrier.wait(SECONDS)
            job()
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=run, args=(job,), daemon=True) for job in jobs]
    for t in threads:
        t.start()
    for t in threads:
        t.join(SECONDS)
    assert not any(t.is_alive() for t in threads), "a thread hangs"
    if errors:
        raise errors[0]


def until(stopped, job):
    """A job that does `job` over and over until the event `stopped` is set."""

    def run():
        while not stopped.is_set():
            job()

    return run


def ends(stopped, job):
    def run():
        try:
            job()
        finally:
            stopped.set()

    return run
