"""``fsframe evaluate STAGES on DATA``: honest accuracy and stability."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fsframe.cli.protocol_run import (
    output_options,
    protocol_request,
    run_protocol,
    with_groups,
)
from fsframe.cli.reading_options import reading_options
from fsframe.cli.saying import say, say_json, say_lines
from fsframe.cli.stages import StageGroup, last_command
from fsframe.cli.text_table import table_lines
from fsframe.contracts.grammar import StageText, format_stages

if TYPE_CHECKING:
    from fsframe.evaluation.recorded import RecordedEvaluation
    from fsframe.evaluation.summary import Evaluation
    from fsframe.storage import RunRecord

__all__ = ["classifier_text", "evaluate", "measure_lines"]

_PROTOCOL = "cross-validation"


@click.argument("data", type=click.Path())
@reading_options
@click.option("--folds", metavar="N", help="Folds. [default: 10]")
@click.option("--repeats", metavar="N", help="Repetitions. [default: 10]")
@click.option("--scheme", metavar="folds|five-by-two|leave-one-out", help="[default: folds]")
@click.option("--groups", metavar="NAME", help="Column whose groups are never separated.")
@click.option(
    "--classifier",
    metavar="STAGE|PATH",
    help="For a chain that does not end with one: a stage, or the name of a scikit-learn "
    "classifier. [default: weighted-knn]",
)
@click.option("--inner-folds", metavar="N", help="Folds for tuning sets. [default: 5]")
@click.option("--curve", metavar="auto|[N,…]", help="Numbers of features to try as well.")
@click.option("--csv", "csv_out", metavar="FILE", help="Also write one line per fold.")
@output_options
def _on(data: str, **options: Any) -> dict[str, Any]:
    """The table to evaluate on.

    \b
    Example:
      fsframe evaluate immigrate margin on examples/parkinsons.csv --folds 5 --repeats 1
    """
    return {"data": data, **options}


_EPILOG = """\b
A parameter given as a set is tuned inside the training rows of each fold; quote it for the shell:
  fsframe evaluate 'immigrate:sigma={2,1,0.5}' margin on examples/parkinsons.csv --repeats 1
A chain without a classifier is given one, weighted-knn unless told otherwise:
  fsframe evaluate mim:top=5 on examples/parkinsons.csv --classifier knn:k=5 --repeats 1
`fsframe evaluate mim on --help` explains folds, repeats, groups, curves and files.
"""


@click.group(
    cls=StageGroup,
    last=last_command("on", _on, help=_on.__doc__),
    epilog=_EPILOG,
    subcommand_metavar="STAGES",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
def evaluate() -> None:
    """How well a chain predicts rows it has not seen, and how stable its choice is.

    Repeated stratified cross-validation, 10 × 10 by default. Everything that learns, tuning
    included, learns from the training rows of the fold.
    """


@evaluate.result_callback()
def _run(results: list[StageText | dict[str, Any]]) -> None:
    from fsframe.chains.chain import Chain, Stage
    from fsframe.evaluation.cross_validation import CrossValidation
    from fsframe.evaluation.recorded import recorded_evaluation

    texts, options = protocol_request(results, "immigrate margin")
    names = ("folds", "repeats", "scheme", "groups", "classifier", "inner_folds", "curve")
    given = {name: options.pop(name) for name in names}
    given["classifier"] = classifier_text(given["classifier"])
    options = with_groups(options, given["groups"])
    base = format_stages(texts)
    method = CrossValidation.from_texts(
        {"base": base, **{key: value for key, value in given.items() if value is not None}}
    )
    chain = Chain((Stage(_PROTOCOL, method),))
    if options["dry_run"]:
        say(str(chain))
        return
    # Absolute: a plugin may change the current folder.
    csv_out = os.path.abspath(options["csv_out"]) if options["csv_out"] else None
    record, out = run_protocol(chain, "evaluate", texts, also_written=[csv_out], **options)
    found = recorded_evaluation(record)
    if csv_out:
        write_folds(Path(csv_out), found.found, overwrite=options["overwrite"])
    if options["as_json"]:
        say_json(evaluation_object(record, found, out))
        return
    say_lines(evaluation_lines(record, found, out))


def classifier_text(text: str | None) -> str | None:
    """The stage that `--classifier` names: itself, or ``sklearn`` with the name of a class.

    >>> classifier_text("sklearn.tree.DecisionTreeClassifier:standardize=yes")
    'sklearn:estimator=sklearn.tree.DecisionTreeClassifier,standardize=yes'
    >>> classifier_text("knn:k=5")
    'knn:k=5'
    """
    if text is None:
        return None
    name, colon, rest = text.partition(":")
    if "." not in name or "/" in name:
        return text
    return f"sklearn:estimator={name}{',' if colon else ''}{rest}"


def evaluation_object(
    record: RunRecord, recorded: RecordedEvaluation, out: Path | None
) -> dict[str, Any]:
    """An evaluation as one object for ``--json``; what is undefined is null."""
    from fsframe.cli.display import result_object

    found = recorded.found
    return {
        **result_object(record, out),
        "evaluated": recorded.base,
        "n_splits": found.n_splits,
        "measures": {
            name: {
                "mean": _number(measure.mean),
                "standard_error": _number(measure.standard_error),
                "values": [_number(value) for value in measure.values],
            }
            for name, measure in found.measures.items()
        },
        "kept": [int(k) for k in found.kept],
        "stability": {
            "metric": "nogueira",
            "value": _number(found.stability.value),
            "interval": None
            if found.stability.interval is None
            else [_number(bound) for bound in found.stability.interval],
            "undefined": found.stability.undefined,
        },
        "chosen": list(recorded.chosen),
        "curve": [
            [p.size, _number(p.accuracy), _number(p.standard_error), _number(p.stability)]
            for p in found.curve
        ],
        "one_standard_error": found.one_standard_error,
    }


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def evaluation_lines(
    record: RunRecord, recorded: RecordedEvaluation, out: Path | None
) -> Iterator[str]:
    """An evaluation as lines for a terminal."""
    from fsframe.cli.display import closing_lines, frequency_lines
    from fsframe.storage import printable

    found = recorded.found
    yield (
        f"{recorded.base} on {printable(record.data.name)}: {record.n_samples} samples × "
        f"{record.n_features} features, {found.n_splits} splits"
    )
    yield ""
    yield from measure_lines(found, record.stages[-1].seconds)
    yield from _choice_lines(recorded)
    yield from _curve_lines(found)
    yield ""
    yield from frequency_lines(record)
    yield from closing_lines(record, out)


def measure_lines(found: Evaluation, seconds: float) -> Iterator[str]:
    """The measures of an evaluation, what it kept and how stably, as lines for a terminal."""
    rows = []
    for name, measure in found.measures.items():
        if measure.undefined:
            rows.append([name, "—", f"undefined: {measure.undefined}"])
        elif measure.standard_error == measure.standard_error:
            rows.append([name, f"{measure.mean:.4f}", f"± {measure.standard_error:.4f}"])
        else:
            rows.append([name, f"{measure.mean:.4f}", "over all predictions of a repetition"])
    rows.append(["features kept", f"{found.kept.mean():.1f}", _span(found.kept)])
    rows.append(_stability_row(found))
    rows.append(["seconds per split", f"{seconds / found.n_splits:.3g}", ""])
    yield from list(table_lines(["", "", ""], rows, right={1}))[1:]
    yield "± is corrected for training sets that overlap (Nadeau, Bengio 2003)."


def _span(kept: Any) -> str:
    return f"from {kept.min()} to {kept.max()}" if kept.min() != kept.max() else "always"


def _stability_row(found: Evaluation) -> list[str]:
    value = found.stability
    if value.undefined:
        return ["stability φ", "—", value.undefined]
    interval = (
        "" if value.interval is None else "95 % from {:.3f} to {:.3f}".format(*value.interval)
    )
    return ["stability φ", f"{value.value:.3f}", interval]


def _choice_lines(recorded: RecordedEvaluation) -> Iterator[str]:
    if recorded.n_chains == 1:
        return
    yield ""
    yield "Chosen inside the folds:"
    # Equally often chosen ones in the order of the grid.
    grid = dict(sorted(zip(recorded.found.chosen.tolist(), recorded.chosen, strict=True)))
    times = Counter(recorded.chosen)
    rows = [[str(times[chain]), chain] for chain in dict.fromkeys(grid.values())]
    rows.sort(key=lambda row: -int(row[0]))
    yield from table_lines(["times", "chain"], rows, right={0})


def _curve_lines(found: Evaluation) -> Iterator[str]:
    if not found.curve:
        return
    yield ""
    yield "By number of features (the best of every fold's own ranking):"
    rows = []
    for point in found.curve:
        mark = "← smallest within ± of the best" if (point.size == found.one_standard_error) else ""
        stable = "—" if point.stability != point.stability else f"{point.stability:.3f}"
        rows.append(
            [str(point.size), f"{point.accuracy:.4f}", f"{point.standard_error:.4f}", stable, mark]
        )
    yield from table_lines(
        ["features", "accuracy", "±", "stability φ", ""], rows, right={0, 1, 2, 3}
    )


def write_folds(path: Path, found: Evaluation, *, overwrite: bool) -> None:
    """A table of one line per fold at `path`: what it kept, and every measure of it."""
    from fsframe.storage import place_file

    names = [name for name, measure in found.measures.items() if measure.mean == measure.mean]
    names = [name for name in names if len(found.measures[name].values) == found.n_splits]
    lines = [",".join(["split", "features_kept", *names])]
    for split in range(found.n_splits):
        values = [repr(float(found.measures[name].values[split])) for name in names]
        lines.append(",".join([str(split), str(int(found.kept[split])), *values]))
    place_file(path, ("\n".join(lines) + "\n").encode(), overwrite=overwrite)
