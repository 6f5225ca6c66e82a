"""Tables as one JSON object a line."""

import json

from fsframe.registry.entries import WriterEntry
from fsframe.registry.hookspecs import hookimpl
from fsframe.tables.writer import Writer


class JsonLines(Writer):
    """Numbers in full; what is not there is null."""

    def _write(self, columns, *, defuse):
        rows = zip(*columns.values(), strict=True)
        lines = (json.dumps(dict(zip(columns, row, strict=True))) for row in rows)
        return "".join(f"{line}\n" for line in lines).encode()


@hookimpl
def fsframe_writers():
    yield WriterEntry(
        name="jsonl",
        target="fake_jsonl:JsonLines",
        summary="One JSON object a line",
        endings=".jsonl",
        text=True,
    )
