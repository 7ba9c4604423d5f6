"""The interfaces of the two published designs of the work queue, written against this one."""

from __future__ import annotations


class DistinctQueue:
    """A queue whose elements are distinct while they are queued or in progress.

    Differences: with `max_failures` an element that always fails does not return for ever; elements outlive
    the process; takes are served in order within one process.
    """

    def __init__(self, queue):
        self.queue = queue

    def add(self, element):
        return self.queue.add(element)

    def add_all(self, elements):
        return [refused.key for refused in self.queue.add_all(elements)]

    def take_up_to(self, n):
        return self.queue.take(n)  # a scope: success removes, failure and interruption return

    def queued(self):
        return [job.name for job in self.queue.queued()]

    def in_progress(self):
        return [job.name for job in self.queue.in_progress()]

    def stream(self):
        return (job.name for job in self.queue.stream())  # take, scope, repeat

    def metrics(self, job):
        return job.queued_us, job.busy_us, job.collisions, job.failures


class Worker:
    """A worker of an exactly-once queue: one claim at a time, outcome and removal in one transaction.

    Differences: there is no polling; a part that changes its owner leaves the claims of running work alone;
    a session is marked dead before its claims are freed.
    """

    def __init__(self, queue):
        self.queue = queue  # the session: stored by the first take, heartbeats in the background

    def work_one(self, work, wait=None):
        with self.queue.take(1, wait) as claimed:
            for item in claimed:
                outcome = work(item)  # may run twice
                claimed.ack(item, writes=[outcome])  # happens once
            return len(claimed)

    def sessions(self):
        return [(each.host, each.pid, each.started_us, each.heartbeats) for each in self.queue.sessions()]

    def shut_down(self):
        self.queue.close()  # returns the claims and ends the session at once
