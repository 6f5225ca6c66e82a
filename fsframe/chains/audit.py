"""Recompute a finished run: audit its stages, or fit its classifier again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from time import perf_counter
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.chains.chain import Chain
from fsframe.chains.request import answer_tests, memory_route, stage_record
from fsframe.chains.stage import route_of, shares_of
from fsframe.errors import PluginError, RequestError
from fsframe.grammar import format_stages, parse_stages
from fsframe.method.classifier import FittedOnColumns
from fsframe.method.run import Run, size_text
from fsframe.registry import classifiers, find_offer, preferring, selectors
from fsframe.storage import RunRecord
from fsframe.storage.encoding import encode_array, fingerprint, numeric_differences
from fsframe.storage.records import (
    last_selection,
    pair_test_items,
    protocol_name,
    stage_items,
)
from fsframe.table.dataset import Dataset

TOLERANCE = 1e-9
"""Largest difference, relative to the largest number of an array, that counts as rounding."""


@attrs.frozen(kw_only=True)
class StageAudit:
    """Comparison of a recomputed stage with the recorded one.

    Parameters
    ----------
    path : str
        ``/stages/NN-name``, or ``/pair_tests``.
    verdict : {"same bits", "within rounding", "differs"}
        "within rounding" is possible only if the numeric fingerprint of the run differs from that
        of this process, or is not known.
    difference : float
        Largest difference of two numbers, relative to the largest number of the array.
    where : str
        The array with that difference, or the first part that differs by more than rounding.
    seconds : float
        Time of recomputing the stage.
    """

    path: str
    verdict: str
    difference: float = 0.0
    where: str = ""
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether the stage was reproduced."""
        return self.verdict != "differs"


def audit_run(
    record: RunRecord,
    data: Dataset,
    run: Run,
    *,
    memory: int | None = None,
    report: Callable[[StageAudit], None] | None = None,
) -> list[StageAudit]:
    """Recompute the stages of a run, each from the recorded results of the stages before it.

    Parameters
    ----------
    record : RunRecord
    data : Dataset
        The table of the run.
    run : Run
        Threads and workers; the seed is taken from the record instead.
    memory : int, optional
        Memory limit in bytes. Methods choose their algorithm as in the run, or by this limit if the
        run file does not record how (docs/file-format.md, `request`).
    report : callable, optional
        Called with each comparison as soon as it is known.

    Returns
    -------
    list of StageAudit

    Raises
    ------
    DataError
        If `data` is another table, by its SHA-256.
    RequestError
        If the chain is not the one whose stages are recorded, or the run was allowed more memory.
    PluginError
        As raised by the stages. A stage that fails on recorded results is reported as different
        instead.

    Notes
    -----
    A stage is recomputed with all of its resamples; the tests of pairs in the file are repeated
    too. Each stage starts from the recorded results of the earlier ones, so an altered stage is
    detected by itself, and by the next stage if that depends on it. Files stored beside a table in
    parts are not used: its values are read, coded and counted again. The comparison covers what the
    digest of a stage covers (docs/file-format.md, section 4).
    """
    if data.in_parts:
        # Files stored beside the table prove nothing about its values.
        data = attrs.evolve(data, matrix=data.matrix.afresh())
    record.require_table(data)
    with preferring(record.providers()):
        chain = Chain.recorded(record.chain)
        if [stage.name for stage in chain.stages] != [stage.name for stage in record.stages]:
            raise RequestError(
                f"the chain `{record.chain}` does not have the stages of the file: "
                f"{', '.join(stage.name for stage in record.stages)}"
            )
        chain.check_request(data)
        run = attrs.evolve(run, entropy=record.seed or 0)
        route = _route(record, chain, data, memory)
        shares = shares_of(chain, data, memory, run.executor, route=route)
        run = attrs.evolve(run, route_memory=route)
        if shares is not None:
            run = attrs.evolve(run, memory=shares.one_fit)
        rounding = _may_round(record)
        verdicts: list[StageAudit] = []

        def compare(path: str, differences: Iterable[tuple[str, float]], recorded: bool) -> None:
            begin = perf_counter()
            try:
                # The generator recomputes the stage here.
                parts = list(differences)
            except PluginError as error:
                if not (recorded and error.detail):
                    raise
                # It fails although the run finished.
                fails = "it fails on the recorded results of the stages before it"
                parts = [(f"{fails} ({error})", np.inf)]
            verdicts.append(_verdict(path, parts, rounding, perf_counter() - begin))
            if report is not None:
                report(verdicts[-1])

        for number, path in enumerate(record.stage_paths()):
            recorded = last_selection(record.stages[:number]) is not None
            compare(path, _stage_differences(record, chain, data, run, number), recorded)
        if record.pair_tests is not None:
            compare("/pair_tests", _test_differences(record, chain, data, run), recorded=True)
    return verdicts


def _route(record: RunRecord, chain: Chain, data: Dataset, memory: int | None) -> int:
    """Bytes by which methods chose their algorithm in the run, or that `memory` allows if the file
    does not record them. RequestError if the file, which may come from anybody, asks for more."""
    allowed = route_of(chain, data, memory)
    then = memory_route(record) or allowed
    if then > allowed:
        most = 1 << 60
        enough = then + most - route_of(chain, data, most)
        raise RequestError(
            f"the run chose its algorithms for {size_text(then)} of memory beside the table; allow "
            f"as much: --memory {-(-enough // 10**6)}MB"
        )
    return then


def refit(record: RunRecord, training: Dataset, classifier: str = "") -> FittedOnColumns:
    """The fitted classifier at the end of a run.

    A run file does not store fitted classifiers: the classifier is fitted again on the stored
    selection with the run's random stream, which gives the same classifier bit for bit.

    Parameters
    ----------
    record : RunRecord
    training : Dataset
        The table of the run.
    classifier : str
        Classifier for a run whose chain does not end with one.

    Raises
    ------
    DataError
        If `training` is not the table of the run.
    RequestError
        If the run is an evaluation, there is no classifier, or `classifier` is given for a chain
        that ends with one.
    """
    if protocol_name(record) == "cross-validation":
        base = record.stages[-1].params.get("base")
        raise RequestError(
            f"the run is an evaluation of `{base}`, which fits a model in each fold and keeps "
            f"none; run the chain (fsframe chain {base} on TABLE) and predict with that run"
        )
    record.require_table(training)
    # The stages before it are recorded: those of another version need not be known here.
    texts = parse_stages(record.chain)
    own = texts[-1:] if record.stages[-1].kind == "classifier" else ()
    if not own and not classifier:
        raise RequestError(
            f"the chain `{record.chain}` does not end with a classifier; name one, such as "
            "--classifier margin"
        )
    if own and classifier:
        raise RequestError(f"the chain `{record.chain}` ends with its own classifier already")
    with preferring(record.providers()):
        chain = Chain.recorded(format_stages(own)) if own else Chain.parse(classifier)
    method = chain.classifier
    if method is None:
        raise RequestError(f"`{classifier}` is not a classifier")
    run = Run(entropy=record.seed or 0).child(len(texts) - len(own))
    return method.fit(training, last_selection(record.stages), run)


def _may_round(record: RunRecord) -> bool:
    """Whether the run was, or may have been, computed with another processor or library."""
    then = record.environment
    return (
        bool(numeric_differences(then, fingerprint())) or "mixed" in then or "kernels" not in then
    )


def _verdict(
    path: str, parts: list[tuple[str, float]], rounding: bool, seconds: float
) -> StageAudit:
    """The comparison of a stage, given the parts whose bits differ; it names the worst of them."""
    if not parts:
        return StageAudit(path=path, verdict="same bits", seconds=seconds)
    place, worst = max(parts, key=lambda part: part[1])
    verdict = "within rounding" if rounding and worst <= TOLERANCE else "differs"
    return StageAudit(path=path, verdict=verdict, difference=worst, where=place, seconds=seconds)


def _stage_differences(
    record: RunRecord, chain: Chain, data: Dataset, run: Run, number: int
) -> Iterator[tuple[str, float]]:
    """Recompute a stage, and return the difference of each part; infinite where it cannot be
    rounding."""
    then, upstream = record.stages[number], last_selection(record.stages[:number])
    result = next(chain.steps(data, run, upstream, number))
    now = stage_record(chain.stages[number], run.child(number), result)
    offer = find_offer(now.name, selectors, classifiers)[1]
    if then.provider == offer.entry.former_provider:
        now = attrs.evolve(now, provider=then.provider)
    if then.digest() != now.digest():
        yield from _different_fields(then, now, "name", "kind", "provider", "seed")
        yield from _array_differences(stage_items(then), stage_items(now))


def _test_differences(
    record: RunRecord, chain: Chain, data: Dataset, run: Run
) -> Iterator[tuple[str, float]]:
    """Repeat the tests of pairs on the recorded results, and return the difference of each part."""
    then = record.pair_tests
    assert then is not None
    key = run.child(len(chain.stages))
    now, untested = answer_tests(chain.stages, record.stages, data, key)
    if now is None:
        yield untested or "no pair was tested", np.inf
    elif then.digest != now.digest:
        yield from _different_fields(then, now, "name", "provider", "seed")
        yield from _different_fields(then.tests, now.tests, "n_chosen_from", "n_tested")
        yield from _array_differences(pair_test_items(then.tests), pair_test_items(now.tests))


def _different_fields(then: Any, now: Any, *names: str) -> Iterator[tuple[str, float]]:
    yield from ((name, np.inf) for name in names if getattr(then, name) != getattr(now, name))


def _array_differences(
    recorded: Mapping[str, Any], computed: Mapping[str, Any]
) -> Iterator[tuple[str, float]]:
    for name in sorted(recorded.keys() | computed.keys()):
        if name not in recorded or name not in computed:
            yield name, np.inf
        else:
            yield (
                name,
                _difference(encode_array(recorded[name], name), encode_array(computed[name], name)),
            )


def _difference(a: NDArray[np.generic], b: NDArray[np.generic]) -> float:
    if a.shape != b.shape or a.dtype.kind != b.dtype.kind:
        return np.inf
    if a.dtype.kind != "f":
        return 0.0 if np.array_equal(a, b) else np.inf
    one, other = a.astype(np.float64), b.astype(np.float64)
    finite = np.isfinite(one)
    # NaN and infinities have a meaning, such as "not considered"; rounding does not produce them.
    if not np.array_equal(finite, np.isfinite(other)):
        return np.inf
    if not np.array_equal(one[~finite], other[~finite], equal_nan=True):
        return np.inf
    if not finite.any():
        return 0.0
    scale = float(np.abs(one[finite]).max())
    return float(np.abs(one[finite] - other[finite]).max()) / (scale or 1.0)
