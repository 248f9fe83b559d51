"""Python's search for cycles, made rarer: for processes that hold many objects and read many more.

By itself it begins at each 700 new objects, which is one or two documents of an API server, and at intervals looks at
everything there is: a process that holds a thousand tasks spent more time on that than on reading (three quarters of
it, measured).
"""

import gc


def spare_collections(after: tuple[int, int, int]) -> None:
    """Never look again at what is there now, for as long as the process is, and at the rest only `after` so much.

    `after`: as `gc.set_threshold` has it. To be called once all is imported.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*after)
