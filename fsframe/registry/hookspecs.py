"""The hooks a plugin may implement; each yields entries and imports no numerical code."""

from __future__ import annotations

from collections.abc import Iterable

import pluggy

from fsframe.registry import entries

PROJECT = "fsframe"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def fsframe_selectors() -> Iterable[entries.SelectorEntry]:  # type: ignore[empty-body]
    """Selectors that this plugin offers.

    In the module that the plugin's entry point names::

        from fsframe.registry.entries import SelectorEntry
        from fsframe.registry.hookspecs import hookimpl

        @hookimpl
        def fsframe_selectors():
            yield SelectorEntry(
                name="variance",
                target="my_package.variance:Variance",
                summary="Features with the largest variance",
                family="unsupervised",
                gives={"scores"},
                reference="a textbook",
            )

    The class of `target` is imported when a chain names it, not before.
    """


@hookspec
def fsframe_classifiers() -> Iterable[entries.ClassifierEntry]:  # type: ignore[empty-body]
    """Classifiers that this plugin offers, to end a chain.

    Example::

        @hookimpl
        def fsframe_classifiers():
            yield ClassifierEntry(
                name="nearest-mean",
                target="my_package.nearest_mean:NearestMean",
                summary="The class with the nearest mean",
            )
    """


@hookspec
def fsframe_regressors() -> Iterable[entries.RegressorEntry]:  # type: ignore[empty-body]
    """Methods that predict numbers only, to end a chain; those that predict classes too are
    classifiers.

    Example::

        @hookimpl
        def fsframe_regressors():
            yield RegressorEntry(
                name="least-squares",
                target="my_package.least_squares:LeastSquares",
                summary="Least-squares regression",
            )
    """


@hookspec
def fsframe_stability_metrics() -> Iterable[entries.StabilityMetricEntry]:  # type: ignore[empty-body]
    """Stability metrics that this plugin offers.

    Example::

        @hookimpl
        def fsframe_stability_metrics():
            yield StabilityMetricEntry(
                name="hamming",
                target="my_package.hamming:Hamming",
                summary="Share of equal decisions, over pairs of runs",
            )
    """


@hookspec
def fsframe_commands() -> Iterable[entries.CommandEntry]:  # type: ignore[empty-body]
    """Commands that this plugin adds to ``fsframe``.

    Example::

        @hookimpl
        def fsframe_commands():
            yield CommandEntry(
                name="top-genes",
                target="my_package.top_genes:top_genes",
                summary="List the genes that a run kept",
            )

    The target is a `click.Command`. If fsframe or another plugin has a command of the same name,
    this one is called as ``provider/name``.
    """


@hookspec
def fsframe_engines() -> Iterable[entries.EngineEntry]:  # type: ignore[empty-body]
    """Engines that this plugin adds to ``--engine``.

    Example::

        @hookimpl
        def fsframe_engines():
            yield EngineEntry(
                name="slurm",
                target="my_package.slurm:SlurmEngine",
                summary="Jobs of a SLURM cluster",
            )

    The class derives from `fsframe.execution.engine.Engine`; its `open` makes an engine from the
    user's options.
    """


@hookspec
def fsframe_readers() -> Iterable[entries.ReaderEntry]:  # type: ignore[empty-body]
    """Table formats that this plugin reads.

    Example::

        @hookimpl
        def fsframe_readers():
            yield ReaderEntry(
                name="stata",
                target="my_package.stata:StataReader",
                summary="Stata files",
                endings=[".dta"],
            )

    The class derives from `fsframe.table.reader.Reader`; its `_read(path)` returns a data frame.
    """


@hookspec
def fsframe_measures() -> Iterable[entries.MeasureEntry]:  # type: ignore[empty-body]
    """Measures of predictions that this plugin offers.

    Example::

        @hookimpl
        def fsframe_measures():
            yield MeasureEntry(
                name="cost",
                target="my_package.cost:Cost",
                summary="Mean cost, with missed cases at five times the cost of false alarms",
            )

    The class derives from `fsframe.method.classifier.PredictionMeasure` and declares its
    range, its direction and its requirements for classifiers; `_value(predictions)` returns a
    number.
    """


@hookspec
def fsframe_events() -> Iterable[entries.ObserverEntry]:  # type: ignore[empty-body]
    """Observers that this plugin offers: they are called when a run starts, stores a unit, ends a
    stage.

    Example::

        @hookimpl
        def fsframe_events():
            yield ObserverEntry(
                name="tracker",
                target="my_package.tracker:Tracker",
                summary="Runs in my experiment tracker",
            )

    The class derives from `fsframe.method.run.Observer`. Every installed observer is called
    for every run; FSFRAME_BLOCK excludes a plugin.
    """


@hookspec
def fsframe_writers() -> Iterable[entries.WriterEntry]:  # type: ignore[empty-body]
    """Table formats that this plugin writes.

    Example::

        @hookimpl
        def fsframe_writers():
            yield WriterEntry(
                name="stata",
                target="my_package.stata:StataWriter",
                summary="Stata files",
                endings=[".dta"],
            )

    The class derives from `fsframe.table.reader.Writer`; its `_write(columns, defuse=...)` returns
    the bytes of the file.
    """


@hookspec
def fsframe_report_sections() -> Iterable[entries.ReportSectionEntry]:  # type: ignore[empty-body]
    """Sections that this plugin adds to the page about a run.

    Example::

        @hookimpl
        def fsframe_report_sections():
            yield ReportSectionEntry(
                name="gene-sets",
                target="my_package.gene_sets:GeneSets",
                summary="Gene sets that the kept genes belong to",
                place=60,
            )

    The class derives from `fsframe.show.section.Section`; its `_blocks(about)` yields texts,
    tables and figures, or nothing.
    """


@hookspec
def fsframe_nulls() -> Iterable[entries.NullEntry]:  # type: ignore[empty-body]
    """Null hypotheses for npfs: distributions of counts, and ways to permute labels.

    Example::

        @hookimpl
        def fsframe_nulls():
            yield NullEntry(
                name="shifted",
                target="my_package.shifted:Shifted",
                summary="Labels of a time series, shifted as a whole",
            )

    The class derives from `fsframe.resampling.resamples.RelabellingNull`, whose `_labels(data,
    generator)` returns labels under the null, or `fsframe.resampling.resamples.CountNull`, whose
    `_tail(kept, cells)` returns the distribution of a count.
    """


@hookspec
def fsframe_plots() -> Iterable[entries.PlotEntry]:  # type: ignore[empty-body]
    """Kinds of plots that this plugin offers.

    Example::

        @hookimpl
        def fsframe_plots():
            yield PlotEntry(
                name="seconds",
                target="my_package.seconds:Seconds",
                summary="Seconds of each stage",
            )

    The class derives from `fsframe.show.plots.Plot`; its `_draw(axes, record)` draws on the axes.
    """


@hookspec
def fsframe_proposals() -> Iterable[entries.ProposalEntry]:  # type: ignore[empty-body]
    """Chains that ``fsframe inspect`` proposes for tables of some kind.

    Example::

        @hookimpl
        def fsframe_proposals():
            yield ProposalEntry(
                name="wide",
                question="which features are relevant, each by itself",
                chain="my-filter:top=50",
                promise="none",
                tables="classes",
                when={"classification"},
            )

    For each question, the one of the smallest `place` is proposed, among those that apply to the
    table and whose chain accepts it.
    """
