"""Plot one run or several."""

from __future__ import annotations

import textwrap
from pathlib import Path

import click

from fsframe.cli.reading_options import source_of_run, table_of_run
from fsframe.cli.run_file import find_comparison, find_runs, not_to_replace
from fsframe.cli.terminal import say, say_lines
from fsframe.errors import RequestError


@click.command()
@click.argument("kind", required=False)
@click.argument("words", nargs=-1, metavar="RUN... [on DATA]")
@click.option(
    "-o",
    "--out",
    metavar="FILE",
    help="Ending in .svg, .pdf or .png. [default: RUN.KIND.svg beside the first run]",
)
@click.option(
    "--most", type=click.IntRange(min=1), help="Draw at most this many features or pairs."
)
@click.option("--pair", metavar="NAME,NAME", help="For the kind pair: the two features.")
@click.option("--metric", metavar="NAME", help="For the kinds pareto and cd: the measure.")
@click.option("--dpi", type=click.FloatRange(10, 1200), default=200, show_default=True, help="PNG.")
@click.option(
    "--outlines",
    is_flag=True,
    help="SVG: draw text as outlines, which look the same everywhere but cannot be edited.",
)
@click.option("--overwrite", is_flag=True, help="Replace the file if it exists.")
def plot(
    kind: str | None,
    words: tuple[str, ...],
    out: str | None,
    most: int | None,
    pair: str | None,
    metric: str | None,
    dpi: float,
    outlines: bool,
    overwrite: bool,
) -> None:
    """Plot one run or several; without arguments, list the kinds of plots.

    A folder, such as one written by `compare -o`, or a study stands for the chains compared in it;
    for a study, its first seed is drawn.

    Colours are safe for colour-blind readers; in grey, markers and dashes tell lines apart. Equal
    runs give equal bytes.

    \b
    Examples:
      fsframe plot
      fsframe plot scores examples/parkinsons.immigrate-npfs.h5 -o scores.pdf
    """
    from fsframe.show.plots import draw, known_kinds

    if kind is None:
        say_lines(_listed())
        return
    kinds = known_kinds()
    if kind not in kinds:
        # Raises an error that lists the kinds.
        draw(kind, [])
    if not words or words[0] == "on":
        raise RequestError(
            f"name the run: fsframe plot {kind} RUN.h5 (it needs {kinds[kind].needs})"
        )
    runs, source = _split(words)
    several = find_comparison(runs[0]) if len(runs) == 1 and kinds[kind].several else None
    paths = [several.name] if several else find_runs(runs)
    target = Path(out) if out else paths[0].with_suffix(f".{kind.replace('/', '-')}.svg")
    form = target.suffix.lower().removeprefix(".")
    if form not in ("svg", "pdf", "png"):
        raise RequestError(f"{target}: end its name in .svg, .pdf or .png")
    ends = tuple(part.strip() for part in pair.split(",")) if pair else None

    from fsframe.show.plots.canvas import figure_bytes
    from fsframe.storage import check_destination, load_run, place_file

    if several:
        # Without the classifiers on all features; by the measure of the comparison.
        study = several.study
        cells = [c for c in study.runs if c.chain < len(study.chains) and c.seed == 0]
        records, used = [study.runs[cell] for cell in cells], several.used()
        metric = metric or (study.measures[0] if "metric" in kinds[kind].options else None)
    else:
        records = [load_run(path) for path in paths]
        used = not_to_replace(paths, records, source)
    check_destination(target, overwrite=overwrite, apart_from=used)
    data = None
    if kinds[kind].data:
        data = table_of_run(records[0], source_of_run(records[0], source, "… RUN on DATA"))
    elif source:
        raise RequestError(f"the plot {kind!r} is drawn from the run alone, without a table")
    figure = draw(kind, records, data, most=most, pair=ends, metric=metric)
    content = figure_bytes(figure, form, dpi=dpi, outlines=outlines)
    say(f"picture: {place_file(target, content, overwrite=overwrite, apart_from=used)}")


def _split(words: tuple[str, ...]) -> tuple[list[str], str | None]:
    if "on" not in words:
        return list(words), None
    place = words.index("on")
    if len(words) != place + 2:
        raise RequestError("name one table after `on`: fsframe plot KIND RUN on DATA")
    return list(words[:place]), words[place + 1]


def _listed() -> list[str]:
    from fsframe.show.plots import known_kinds

    kinds = known_kinds()
    width = max(map(len, kinds)) + 2
    lines = ["Kinds of plots: fsframe plot KIND RUN… -o FILE.svg", ""]
    for name, kind in kinds.items():
        text = f"{kind.shows}; needs {kind.needs}"
        lines += textwrap.wrap(
            text, 80, initial_indent=name.ljust(width), subsequent_indent=" " * width
        )
    return lines
