"""A plot of the seconds that each stage of a run took."""

from fsframe.registry.entries import PlotEntry
from fsframe.registry.hookspecs import hookimpl
from fsframe.show.plots import Plot


class Seconds(Plot):
    """Bars, one for each stage."""

    size = (5.0, 3.0)

    def _draw(self, ax, record):
        ax.bar([stage.name for stage in record.stages], [stage.seconds for stage in record.stages])
        ax.set_ylabel("seconds")


@hookimpl
def fsframe_plots():
    yield PlotEntry(name="seconds", target="fake_seconds:Seconds", summary="Seconds of each stage")
