"""What the operator counts and measures, for Prometheus. Every label's values are a closed set."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from mcptasks_crds.kube import TASKS, KubeError
from mcptasks_crds.phases import Phase
from mcptasks_crds.reasons import Reason

from .store import Store

PREFIX = "mcptasks_operator"
RECONCILE_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """The operator's metrics, in a registry of their own."""

    def __init__(self) -> None:
        # Else each counter has a series more, of which nobody asks anything.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self._ended = Counter(
            f"{PREFIX}_tasks_ended",
            "Tasks that ended, by phase and reason.",
            ["phase", "reason"],
            registry=self.registry,
        )
        self._requests = Counter(
            f"{PREFIX}_api_requests",
            "Requests to the API server, the watches aside; code 0: no answer.",
            ["verb", "resource", "code"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            f"{PREFIX}_reconcile_seconds",
            "How long one pass over a task or a tool took.",
            ["kind"],
            buckets=RECONCILE_BUCKETS,
            registry=self.registry,
        )
        self._failures = Counter(
            f"{PREFIX}_reconcile_failures",
            "Passes that failed and are tried again.",
            ["kind"],
            registry=self.registry,
        )
        self._last_event = Gauge(
            f"{PREFIX}_last_watch_event_timestamp_seconds",
            "When the watch last brought an event.",
            ["resource"],
            registry=self.registry,
        )

        self._blocks = Counter(
            f"{PREFIX}_loop_blocks",
            "How often the event loop stood still for more than a second.",
            registry=self.registry,
        )

    def blocked(self) -> None:
        """The event loop stands still. May be called from any thread."""
        self._blocks.inc()

    def ended(self, phase: Phase, reason: Reason | None) -> None:
        """A task's end was written."""
        self._ended.labels(str(phase), "" if reason is None else str(reason)).inc()

    @contextmanager
    def request(self, verb: str, resource: str) -> Iterator[None]:
        """A request to the API server."""
        try:
            yield
        except KubeError as error:
            self._requests.labels(verb, resource, str(error.status or 0)).inc()
            raise
        self._requests.labels(verb, resource, "2xx").inc()

    @contextmanager
    def reconcile(self, kind: str) -> Iterator[None]:
        """A pass over a task or a tool."""
        with self._seconds.labels(kind).time():
            yield

    def failed(self, kind: str) -> None:
        """A pass failed."""
        self._failures.labels(kind).inc()

    def watched(self, resource: str) -> None:
        """A watch brought an event."""
        self._last_event.labels(resource).set(time.time())

    def observe(self, name: str, what: str, read: Callable[[], float]) -> None:
        """Add a gauge that is read when it is asked for."""
        Gauge(f"{PREFIX}_{name}", what, registry=self.registry).set_function(read)

    def count_tasks(self, store: Store, *, counts: Callable[[], bool] = lambda: True) -> None:
        """Add the number of tasks by phase, counted when it is asked for; one operator alone counts them."""
        self.registry.register(_TasksByPhase(store, counts))

    def text(self) -> bytes:
        """All of it, in Prometheus' text format."""
        return generate_latest(self.registry)


class _TasksByPhase(Collector):
    def __init__(self, store: Store, counts: Callable[[], bool]) -> None:
        self._store = store
        self._counts = counts

    def collect(self) -> Iterable[GaugeMetricFamily]:
        counts = {str(phase): 0 for phase in Phase} | {"": 0}
        for document in self._store.all(TASKS):
            phase = document.get("status", {}).get("phase", "")
            counts[phase if phase in counts else ""] += 1
        family = GaugeMetricFamily(f"{PREFIX}_tasks", "Tasks that are kept, by phase.", labels=["phase"])
        for phase, count in counts.items() if self._counts() else ():
            family.add_metric([phase], count)
        yield family
