"""Tables as one JSON object per line."""

import json

from fsframe.registry.entries import WriterEntry
from fsframe.registry.hookspecs import hookimpl
from fsframe.table.reader import Writer


class JsonLines(Writer):
    """Numbers in full precision; missing values are null."""

    def _write(self, columns, *, defuse):
        rows = zip(*columns.values(), strict=True)
        lines = (json.dumps(dict(zip(columns, row, strict=True))) for row in rows)
        return "".join(f"{line}\n" for line in lines).encode()


@hookimpl
def fsframe_writers():
    yield WriterEntry(
        name="jsonl",
        target="fake_jsonl:JsonLines",
        summary="One JSON object per line",
        endings=".jsonl",
        text=True,
    )
