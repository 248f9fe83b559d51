"""A request's progress: whatever a tool reports, its client is told values that rise and that every client can read."""

import itertools
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptasks_server.outbox import Outbox
from mcptasks_server.progress import ProgressLine

_numbers = st.integers() | st.floats() | st.just(10**400) | st.just(-(10**400)) | st.just(1.7976931348623157e308)
_reports = st.tuples(_numbers, st.none() | _numbers)
_beats = st.none()


class Heard(Outbox):
    """An outbox that keeps everything that is put into it."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[dict[str, Any]] = []

    def _put(self, key: object, message: Any) -> None:
        super()._put(key, message)
        self.told.append(json.loads(b"".join(self._waiting[key]))["params"])


@pytest.mark.requirement("progress/increases", "legacy/progress-increases")
@given(st.lists(_reports | _beats, max_size=8))
def test_whatever_is_reported_the_values_are_finite_and_rise(events: list[tuple[float, float | None] | None]) -> None:
    outbox = Heard()
    line = ProgressLine(outbox, token='"t"')
    for event in events:
        if event is None:
            line.beat("alive")
        else:
            line.report(event[0], total=event[1])

    values = [each["progress"] for each in outbox.told]
    assert all(isinstance(value, int | float) and math.isfinite(value) for value in values)
    assert all(earlier < later for earlier, later in itertools.pairwise(values))
    for each in outbox.told:
        assert each.get("total") is None or each["total"] >= each["progress"]
        assert "total" not in each or (isinstance(each["total"], int | float) and math.isfinite(each["total"]))


@given(st.integers(min_value=-(2**53), max_value=2**53 - 1))
def test_an_integer_stays_one(value: int) -> None:
    outbox = Heard()
    ProgressLine(outbox, token="1").report(value, total=value + 1)

    (told,) = outbox.told
    assert (type(told["progress"]), told["progress"]) == (int, value)
    assert (type(told["total"]), told["total"]) == (int, value + 1)
