"""Build the chain of a protocol and the table it runs on from what the user gave."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fsframe.contracts.annotated_arrays import is_annotated, is_labelled
from fsframe.contracts.data_frames import is_frame
from fsframe.contracts.dataset import Dataset
from fsframe.contracts.params import format_value
from fsframe.errors import RequestError
from fsframe.tables.locate import in_parts

if TYPE_CHECKING:
    from fsframe.chains.chain import Chain

__all__ = [
    "classifier_text",
    "evaluation_chain",
    "named_tables",
    "stability_chain",
    "table_of",
    "texts_of",
]


def classifier_text(text: str | None) -> str | None:
    """The stage that `--classifier` names: a stage, or ``sklearn`` with the name of a class.

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


def evaluation_chain(base: str, given: Mapping[str, str | None]) -> Chain:
    """The cross-validation of `base`, with parameters as text; those that are None are left out.

    Raises
    ------
    RequestError, PluginError
        Naming everything that is wrong with them.
    """
    from fsframe.evaluation.cross_validation import CrossValidation

    given = {**given, "classifier": classifier_text(given.get("classifier"))}
    return _protocol("cross-validation", CrossValidation, base, given)


def stability_chain(base: str, given: Mapping[str, str | None]) -> Chain:
    """The stability study of `base`; otherwise as `evaluation_chain`."""
    from fsframe.evaluation.stability_study import StabilityStudy

    return _protocol("stability-study", StabilityStudy, base, given)


def _protocol(name: str, method: Any, base: str, given: Mapping[str, str | None]) -> Chain:
    from fsframe.chains.chain import Chain, Stage

    texts = {key: value for key, value in given.items() if value is not None}
    return Chain((Stage(name, method.from_texts({"base": base, **texts})),))


def texts_of(given: Mapping[str, Any]) -> dict[str, str | None]:
    """Parameter values as the text that a command would take.

    >>> texts_of({"folds": 5, "curve": [1, 2], "scheme": None})
    {'folds': '5', 'curve': '[1,2]', 'scheme': None}
    """
    return {key: None if value is None else format_value(value) for key, value in given.items()}


def named_tables(data: Any) -> list[tuple[str, Any]]:
    """One or several tables with names: those of a mapping, else ``data1``, ``data2``, …"""
    if isinstance(data, Mapping):
        return [(str(name), each) for name, each in data.items()]
    if isinstance(data, (list, tuple)):
        return [(f"data{place}", each) for place, each in enumerate(data, start=1)]
    return [("data", data)]


def table_of(
    data: Any, label: Any = None, groups: str | int | None = None, name: str = "data"
) -> tuple[Dataset, str]:
    """The table to run on, and the path it was read from.

    Parameters
    ----------
    data : Dataset, data frame, path, or what is read in parts
        As in `fsframe.select`.
    label : str, int or (n_samples,) array, optional
    groups : str or int, optional
    name : str
        Name for a data frame.

    Raises
    ------
    RequestError
        If `data` is something else, or a Dataset is given with a label or groups of its own.
    DataError, StoreError
        As raised by `fsframe.read`.
    """
    if isinstance(data, Dataset):
        if label is not None or groups is not None:
            raise RequestError(
                "a Dataset already has its label and groups; label= and groups= are for data "
                "frames and files"
            )
        return data, ""
    if isinstance(data, (str, os.PathLike)) or in_parts(data):
        from fsframe.tables import find_table, read

        if label is not None and not isinstance(label, (str, int)):
            raise RequestError(
                "the label of a file must be one of its columns, given by name or position"
            )
        options: dict[str, Any] = {} if groups is None else {"groups": groups}
        if not isinstance(data, (str, os.PathLike)):
            return read(data, label=label, **options), ""
        path = find_table(os.fspath(data))
        return read(path, label=label, **options), str(Path(path))
    if is_frame(data) or is_annotated(data) or is_labelled(data):
        if label is None or isinstance(label, (str, int)):
            return Dataset.from_frame(data, label, groups=groups, name=name), ""
        if groups is not None:
            raise RequestError(
                "groups= names a column of a data frame that also holds the label; if the label "
                "is separate, use Dataset.from_arrays(X, y, groups=…)"
            )
        return Dataset.from_arrays(data, label, name=name), ""
    raise RequestError(
        "data must be a Dataset, a data frame (pandas, polars, pyarrow, xarray, AnnData) or a "
        f"path, not {type(data).__name__}; for arrays, use fsframe.Dataset.from_arrays(X, y)"
    )
