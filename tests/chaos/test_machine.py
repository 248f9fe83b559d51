"""The clock of a busy machine: it counts what others leave, and a quiet machine's seconds whole."""

import os

import pytest

from mcptasks_chaos.machine import OurClock, Process, Usage, our_share, parse, read_usage, seconds_of

PROCESSORS = os.cpu_count() or 1


def test_descendants_count_and_nobody_else() -> None:
    tree = [(1, 0, 100.0), (2, 1, 10.0), (3, 2, 1.0), (4, 3, 0.5), (5, 1, 7.0)]
    processes = [Process(number=number, parent=parent, seconds=seconds) for number, parent, seconds in tree]

    assert seconds_of([2], processes) == 11.5
    assert seconds_of([2, 4], processes) == 11.5
    assert seconds_of([9], processes) == 0


@pytest.mark.parametrize(
    ("used", "ours", "share"),
    [(0, 0, 1.0), (10 * PROCESSORS, 10 * PROCESSORS, 1.0), (10 * PROCESSORS, 0, 0.0), (5 * PROCESSORS, 0, 0.5)],
)
def test_the_share_is_what_others_leave(used: float, ours: float, share: float) -> None:
    before = Usage(at=100.0, all=50.0, ours=20.0)

    assert our_share(before, Usage(at=110.0, all=50.0 + used, ours=20.0 + ours)) == pytest.approx(share)


def test_a_process_may_have_brackets_and_blanks_in_its_name() -> None:
    ticks = os.sysconf("SC_CLK_TCK")
    words = f"7 (a) (b c) S 1 7 7 0 -1 4194560 1 2 3 4 {ticks} {ticks} {ticks} {ticks} 20 0 1 0 5"

    assert parse(words) == Process(number=7, parent=1, seconds=4.0)


def test_this_machine_can_be_read_and_its_clock_does_not_go_back() -> None:
    usage = read_usage([os.getpid()])
    clock = OurClock(roots=(os.getpid(),))

    assert 0 < usage.ours <= usage.all
    assert 0 <= clock.read() <= clock.read()
