"""The engine that `fake_commands` offers."""

from concurrent.futures import ThreadPoolExecutor

from fsframe.execution.engine import Engine


class OneThread(Engine):
    """Computes in one thread, and says so."""

    @classmethod
    def open(cls, options):
        print("a thread of its own")
        return cls(ThreadPoolExecutor(1), 1)
