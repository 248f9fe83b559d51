"""What the server tells Prometheus. Every label's values come from a closed list."""

from collections.abc import Callable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics

from .contexts import LEFT_SECONDS, Contexts
from .operations import Door, Operations, Phase

_DURATIONS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """The server's metrics, in a registry of their own."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        # Else each counter has a series more, of which nobody asks anything.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry: Final = registry or CollectorRegistry()
        self.requests: Final = Counter(
            "mcptasks_server_requests",
            "MCP requests by method (`other`: one we do not have), era (`none`: it could not be told) and outcome "
            "(`ok`, `tool_error`, or the error code).",
            ["method", "era", "outcome"],
            registry=self.registry,
        )
        self.request_seconds: Final = Histogram(
            "mcptasks_server_request_seconds",
            "Time from the body's last byte to the answer, of what is answered at once (without a stream).",
            ["method"],
            buckets=_DURATIONS,
            registry=self.registry,
        )
        self.open_streams: Final = Gauge(
            "mcptasks_server_open_streams",
            "Answers that are open streams: held calls, listening clients, those that wait for a task's result.",
            ["kind"],
            registry=self.registry,
        )
        self.active_operations: Final = Gauge(
            "mcptasks_server_active_operations",
            "What is under way, by door (`extension`, `legacy_task`, `plain`) and phase (`create`, `inline`, "
            "`companion`, `held`, `result`, `listen`).",
            ["door", "phase"],
            registry=self.registry,
        )
        self.progress_age: Final = Gauge(
            "mcptasks_server_progress_age_seconds",
            "Of the clients that wait for a task: how long ago the one that has waited longest was told of progress, "
            "or sent a sign of life.",
            registry=self.registry,
        )
        self.messages_waiting: Final = Gauge(
            "mcptasks_server_messages_waiting",
            "Messages that wait for their readers, of all streams.",
            registry=self.registry,
        )
        self.contexts_left: Final = Gauge(
            "mcptasks_server_contexts_left",
            f"Requests of which something is still in memory {LEFT_SECONDS:g} s after they ended. Must be 0.",
            registry=self.registry,
        )
        self.messages_replaced: Final = Counter(
            "mcptasks_server_messages_replaced",
            "Notifications that were never sent, for a newer one took their place while their reader was slow.",
            registry=self.registry,
        )
        self.inline_threads: Final = Gauge(
            "mcptasks_server_inline_threads",
            "Threads that run functions of tool packs: in a call's time (`busy`), or after it (`stuck`).",
            ["state"],
            registry=self.registry,
        )
        self.loop_blocks: Final = Counter(
            "mcptasks_server_loop_blocks",
            "How often the event loop stood still for more than a second. The log says where.",
            registry=self.registry,
        )
        self.tasks_created: Final = Counter("mcptasks_server_tasks_created", "Tasks created.", registry=self.registry)
        self.task_reads: Final = Counter(
            "mcptasks_server_task_reads",
            "Reads of tasks, by where they were answered from (`cache`, or why the API server was asked).",
            ["source"],
            registry=self.registry,
        )
        self.log_reads: Final = Counter(
            "mcptasks_server_log_reads",
            "Logs of tasks that were shown, by where they came from (`pod`, `kept`, or `none`: there was none).",
            ["source"],
            registry=self.registry,
        )
        self.watch_lag: Final = Histogram(
            "mcptasks_server_watch_lag_seconds",
            "Time from a write's or a read's answer until the watch showed the same version.",
            ["kind"],
            buckets=_DURATIONS,
            registry=self.registry,
        )
        self.watch_overdue: Final = Gauge(
            "mcptasks_server_watch_overdue_seconds",
            "For how long the watch has owed what is known to have changed.",
            ["kind"],
            registry=self.registry,
        )
        self.watch_lists: Final = Counter(
            "mcptasks_server_watch_lists", "How often all objects were listed.", ["kind"], registry=self.registry
        )
        self.cached_objects: Final = Gauge(
            "mcptasks_server_cached_objects", "Objects in the cache.", ["kind"], registry=self.registry
        )

        self.pod_requests: Final = Counter(
            "mcptasks_server_pod_requests",
            "Requests of tasks' pods, by operation and HTTP status.",
            ["operation", "status"],
            registry=self.registry,
        )
        self.pod_request_seconds: Final = Histogram(
            "mcptasks_server_pod_request_seconds",
            "Time to answer a pod's request, of those that wait for nobody.",
            ["operation"],
            buckets=_DURATIONS,
            registry=self.registry,
        )
        self.progress_values: Final = Counter(
            "mcptasks_server_progress_values", "Values of progress that pods reported.", registry=self.registry
        )
        self.progress_writes: Final = Counter(
            "mcptasks_server_progress_writes",
            "Writes of progress, by what came of them: `written`, `overtaken` (it did not count any more), "
            "`unavailable` (tried again), `refused`.",
            ["outcome"],
            registry=self.registry,
        )
        self.progress_waiting: Final = Gauge(
            "mcptasks_server_progress_waiting",
            "Tasks whose newest progress is not written yet.",
            registry=self.registry,
        )
        self.contexts: Final = Contexts()
        """What belongs to requests that have ended."""
        self.looks: Final[list[Callable[[], None]]] = [self._look_at_contexts]
        """What is called before the metrics are shown, for what is only known by looking."""

    def look(self) -> None:
        """Bring up to date what is only known by looking."""
        for look in self.looks:
            look()

    def look_at(self, operations: Operations) -> None:
        """Show what is under way, whenever metrics are."""
        self.looks.append(lambda: self._show(operations))

    def _show(self, operations: Operations) -> None:
        seen = operations.look()
        for door in Door:
            for phase in Phase:
                self.active_operations.labels(door, phase).set(seen.active.get((door, phase), 0))
        self.progress_age.set(seen.progress_age_seconds)
        self.messages_waiting.set(seen.waiting)

    def _look_at_contexts(self) -> None:
        self.contexts_left.set(self.contexts.left())

    def threads(self, *, busy: int, stuck: int) -> None:
        """How many threads run functions of packs, and how many of these run on after their call was over."""
        self.inline_threads.labels("busy").set(busy - stuck)
        self.inline_threads.labels("stuck").set(stuck)
