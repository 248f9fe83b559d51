"""A red build, for those who want to see one: `run-tests` with the selection `examples/failing` is a tool error.

Not among the project's own tests (`testpaths`).
"""


def test_a_pipeline_that_is_broken_says_what_broke() -> None:
    ordered, delivered = 12, 11

    assert delivered == ordered, "one parcel is missing"


def test_the_rest_of_it_is_fine() -> None:
    assert sum([5, 6]) == 11
