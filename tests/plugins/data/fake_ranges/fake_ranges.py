"""A section of the report: the range of each kept feature."""

from fsframe.registry.entries import ReportSectionEntry
from fsframe.registry.hookspecs import hookimpl
from fsframe.show.section import Heading, Section, Table, Text


class Ranges(Section):
    """Smallest and largest value of each kept feature, if the table is available."""

    def _blocks(self, about):
        yield Heading("Ranges of the kept features")
        if about.data is None:
            yield Text("The table was not given: `fsframe report RUN on DATA`.", "quiet")
            return
        rows = []
        for column in about.record.selected:
            values = about.data.X[:, column]
            name = about.data.feature_names[column]
            rows.append([name, f"{values.min():.4g}", f"{values.max():.4g}"])
        yield Table(["feature", "smallest", "largest"], rows, "ranges", numbers={1, 2})


@hookimpl
def fsframe_report_sections():
    yield ReportSectionEntry(
        name="ranges", target="fake_ranges:Ranges", summary="Ranges of the kept features", place=45
    )
