"""An executor for tests."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any


class SerialExecutor(Executor):
    """An executor without threads, so that a worker's calls have a fixed order, and a test can interrupt each."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run the task now."""
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:
            done.set_exception(error)
        return done
