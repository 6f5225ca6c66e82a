"""The table that a chain runs on, made from arrays or data frames, with roles of its columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsframe.errors import DataError, RequestError
from fsframe.table.arrays import (
    as_groups,
    as_labels,
    as_mask,
    as_matrix,
    as_names,
    check_numbers_as_classes,
    freeze,
    infer_task,
    kept_columns,
    whole_weights,
)
from fsframe.table.assembly import features_only, from_columns
from fsframe.table.column_kinds import (
    ColumnKind,
    Ordinal,
    as_ordinal,
    check_readings,
    level_text,
)
from fsframe.table.columns import feature_warnings
from fsframe.table.frames import (
    FrameColumns,
    check_same_order,
    is_annotated,
    is_frame,
)
from fsframe.table.frozen_table import ColumnSource, FrozenTable, RowSource
from fsframe.table.roles import Keys, as_keys, asked_sides, names_of, said, spelled_out
from fsframe.table.side_columns import (
    SideColumns,
    days_of_texts,
    events_of,
    feature_sets,
    numbers_as_codes,
    signed_times,
)
from fsframe.table.table_columns import Table
from fsframe.text import did_you_mean

__all__ = ["ColumnSource", "Dataset", "RowSource", "infer_task"]


def _replace_in_groups(
    groups: dict[str, tuple[str, ...]], name: str, columns: tuple[str, ...]
) -> None:
    """Replace a column in its group by its indicators, or make a group of them."""
    of = [title for title, members in groups.items() if name in members]
    for title in of:
        members = groups[title]
        at = members.index(name)
        groups[title] = (*members[:at], *columns, *members[at + 1 :])
    if not of and len(columns) > 1:
        groups[name] = columns


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Dataset(FrozenTable):
    """A table of features with a label.

    Make one with `Dataset.from_arrays` or `fsframe.read`.

    Parameters
    ----------
    matrix : (n_samples, n_features) float64, uint8 or int8, C order, or a ColumnSource
        The features; NaN is a missing value. Bytes stay bytes and `SparseColumns` stay sparse: `X`
        converts them to float64 on access, `columns` only the columns it returns.
    y : (n_samples,) int64 or float64
        Class codes ``0 … n_classes-1`` (position in `classes`), or the target when `task` is
        ``"regression"``; when it is ``"survival"``, times until an event, negative where censored
        (`fsframe.table.side_columns`).
    classes : tuple
        The labels of the codes, sorted; empty for regression.
    feature_names : tuple of str
        Unique, one per column.
    categorical : (n_features,) bool
        Nominal columns: their numbers are codes of categories.
    keep : (n_features,) bool, optional
        Columns that every stage keeps; None: none.
    feature_groups : mapping of str to tuple of str
        Features that are kept or dropped together, by the name of their group. It may name columns
        that this table does not have.
    times : SideColumns, optional
        Time of each row: resamples keep the order. Not a feature.
    covariates : SideColumns, optional
        Covariates to adjust for. Not features.
    sides : mapping of str to SideColumns
        Columns of further side roles by role (`fsframe.table.roles`). Not features.
    kinds : mapping of str to ColumnKind
        Kinds of columns that do not simply hold numbers, with the levels of their codes. It may
        name columns that this table does not have.
    counts : (n_samples,) int64, optional
        Number of times a bootstrap drew each row, or its weight; zero leaves it out. None: once.
    name, label_name, task : str
        Names of the table and its label; ``"classification"``, ``"regression"`` or ``"survival"``.
    groups : (n_samples,) int64, optional
        Which rows belong together (recordings of one person, members of one family), as codes
        ``0 … n_groups-1``: no resample, fold or permutation separates them. None: each row by
        itself. The names of the groups are not stored, since they may be names of people.
    group_name : str
        What the groups are, such as ``person``; empty if there are none.
    weight_name : str
        Name of the weights if `counts` are weights of rows; else empty.
    warnings : tuple of str
        Warnings from reading the data.
    reading : mapping of str to JSON values
        The arguments that were given to `fsframe.read`.
    """

    @classmethod
    def from_arrays(
        cls,
        X: ArrayLike | ColumnSource,
        y: ArrayLike,
        feature_names: Sequence[str] | None = None,
        *,
        categorical: Sequence[int] | Sequence[bool] | NDArray[Any] | None = None,
        groups: ArrayLike | None = None,
        group_name: str = "group",
        name: str = "data",
        label_name: str = "class",
        task: str | None = None,
        warnings: Sequence[str] = (),
        kinds: Mapping[str, ColumnKind] | None = None,
        keep: Sequence[int] | Sequence[bool] | NDArray[Any] | None = None,
        weights: ArrayLike | None = None,
        weight_name: str = "weight",
        event: ArrayLike | None = None,
    ) -> Dataset:
        """A Dataset from arrays, checked.

        Parameters
        ----------
        X : (n_samples, n_features) numbers, a data frame, or a ColumnSource
            A data frame (pandas, polars, pyarrow) also gives names and categorical columns; a scipy
            sparse matrix stays sparse if that saves half of the memory. NaN is a missing value;
            infinite values raise an error. uint8 and int8 (genotypes) are stored as they are,
            without a copy.
        y : (n_samples,)
            Labels of any sortable kind, or a numeric target.
        feature_names : sequence of str, optional
            ``f1, f2, …`` by default.
        categorical : (n_features,) bool or column indices, optional
            Columns whose numbers are codes of categories; none by default.
        groups : (n_samples,) numbers or text, optional
            Rows of equal value belong together and are never separated; not a feature.
        group_name : str
            What the groups are, for messages.
        task : {"classification", "regression"}, optional
            By default regression if `y` holds numbers that are not whole, else classification.
        kinds : mapping of str to ColumnKind, optional
            Kinds of columns that do not simply hold numbers, as in `Dataset`.
        keep : (n_features,) bool or column indices, optional
            Columns that every stage keeps; not all of them.
        weights : (n_samples,) whole numbers ≥ 0, optional
            A row of weight 2 counts as two equal rows.
        weight_name : str
            What the weights are, for messages.
        event : (n_samples,) 0 or 1, optional
            `y` are times until an event, observed (1) or censored (0); `task` is then survival.

        Returns
        -------
        Dataset

        Raises
        ------
        DataError
            If shapes disagree, names repeat, values are infinite or not numbers, a label or a
            group is missing, there are fewer than two classes or groups, or labels, groups or
            weights have the index of a pandas frame in another order.

        Examples
        --------
        >>> data = Dataset.from_arrays([[1.0, 0.0], [0.0, 1.0]], ["ill", "well"])
        >>> data.n_samples, data.classes, data.feature_names
        (2, ('ill', 'well'), ('f1', 'f2'))
        """
        if is_frame(X):
            check_same_order(X, {"labels": y, "groups": groups, "weights": weights})
            parts = features_only(FrameColumns(X))
            X, warnings = parts["X"], (*parts["warnings"], *warnings)
            kinds = parts["kinds"] if kinds is None else kinds
            feature_names = parts["feature_names"] if feature_names is None else feature_names
            if categorical is None:
                categorical = parts["categorical"]
        matrix: Any = X if hasattr(X, "read") else as_matrix(X)  # type: ignore[arg-type]
        n_samples, n_features = matrix.shape
        names = as_names(feature_names, n_features)
        if event is not None:
            y, task = signed_times(y, event, label_name), "survival"
        codes, classes, kind = as_labels(y, n_samples, label_name, task)
        if task is None and kind == "classification":
            notes = check_numbers_as_classes(np.array(classes), np.bincount(codes), label_name)
            warnings = (*warnings, *notes)
        mask = as_mask(categorical, n_features)
        together = None if groups is None else as_groups(groups, n_samples, group_name)
        return cls(
            matrix=matrix,
            y=codes,
            classes=classes,
            feature_names=names,
            categorical=mask,
            name=name,
            label_name=label_name,
            task=kind,
            groups=together,
            group_name="" if together is None else group_name,
            warnings=tuple(warnings),
            kinds=dict(kinds or {}),
            keep=kept_columns(keep, n_features),
            counts=None if weights is None else whole_weights(weights, n_samples, weight_name),
            weight_name="" if weights is None else weight_name,
        )

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        label: str | int | None = None,
        *,
        drop: Keys = (),
        categorical: Keys | bool | None = None,
        groups: str | int | None = None,
        name: str = "data",
        task: str | None = None,
        ordinal: Ordinal | None = None,
        dates: str | None = None,
        encode: str | None = None,
        keep: Keys = (),
        weight: str | int | None = None,
        event: str | None = None,
        feature_groups: Mapping[str, Sequence[str]] | None = None,
        time: str | None = None,
        adjust: str | Iterable[str] = (),
        layer: str | None = None,
        missing_label: str | None = None,
        **sides: str | Iterable[str],
    ) -> Dataset:
        """A Dataset from a data frame that gives names and kinds of columns and holds the label.

        Parameters
        ----------
        frame : pandas.DataFrame, polars.DataFrame, pyarrow.Table or AnnData
            Numeric or boolean columns; missing values become NaN. Categorical columns (category,
            Categorical, Enum, dictionary) are nominal, ordered ones of pandas ordinal. An index is
            not a column.
            Features of an AnnData are its ``X``; label and groups are columns of ``obs``.
        label : str or int, optional
            The label by name, or by position from 0; by default the last column. If names have
            several levels, give their tuple, or its text. Text that is all numbers is read as
            numbers, unless the column is categorical.
        drop : str, int or several
            Columns to leave out; a ``*`` in names is read as by `fsframe.read`.
        categorical : str, int, several, or True, optional
            Further categorical columns; text is coded 0, 1, … in sorted order.
        groups : str or int, optional
            Column of numbers or text whose equal values mark rows that belong together; not a
            feature.
        task : {"classification", "regression"}, optional
            As in `from_arrays`.
        ordinal : str, int, several, or mapping of these to sequences, optional
            Ordinal columns with the order of their levels, ``{"size": ["S", "M", "L"]}``, or the
            name alone if the levels are numbers. They become ranks 0, 1, ….
        dates : {"days"}, optional
            Dates become days since 1970-01-01; without this they raise an error.
        encode : {"onehot"}, optional
            A column of 0 and 1, called ``column=level``, for each level of a nominal column.
        keep : str, int or several
            Columns that every stage keeps.
        weight : str or int, optional
            Column of whole numbers that say how many rows each row stands for; not a feature.
        event : str, optional
            Column of 0 and 1 that says whether the label, a time, ended with the event; not a
            feature.
        feature_groups : mapping of str to sequence of str, optional
            Features that are kept or dropped together, by the name of their group.
        time : str, optional
            Column of the time of each row: numbers, or dates with `dates`; not a feature.
        adjust : str or several
            Covariates to adjust for; not features.
        layer : str, optional
            Layer of an AnnData that holds the features, in place of ``X``.
        missing_label : {"drop"}, optional
            Rows that have no label are left out; by default they are an error.
        sides : str or several
            Columns of further side roles (`fsframe.table.roles`).

        Returns
        -------
        Dataset

        Raises
        ------
        DataError
            If a column does not exist, or features hold text or dates; all are listed. Also as
            `from_arrays`.

        Examples
        --------
        >>> import polars
        >>> frame = polars.DataFrame({"kind": ["x", "y"], "a": [1, 2], "b": [0.5, None]})
        >>> frame = polars.concat([frame, frame])
        >>> data = Dataset.from_frame(frame, label="kind")
        >>> data.feature_names, data.classes, data.label_name
        (('a', 'b'), ('x', 'y'), 'kind')
        """
        further = asked_sides(sides, "from_frame")
        if not is_frame(frame) and not is_annotated(frame):
            raise DataError(
                f"{type(frame).__name__} is not a pandas or polars data frame or a pyarrow table; "
                "use Dataset.from_arrays"
            )
        if layer is not None and not is_annotated(frame):
            raise RequestError(f"layer={layer!r} is for an AnnData, not {type(frame).__name__}")
        # Columns with several levels of names are called by the text of the tuple.
        label, groups, weight = (
            str(key) if isinstance(key, tuple) else key for key in (label, groups, weight)
        )
        check_readings(dates=dates, encode=encode, missing_label=missing_label)
        roles: dict[str, Any] = {
            "label": label, "drop": drop, "categorical": categorical, "groups": groups,
            "ordinal": as_ordinal(ordinal), "keep": keep, "weight": weight, "event": event,
            "time": time, "adjust": adjust, **further,
        }  # fmt: skip
        roles |= {"dates": dates, "missing_label": missing_label}
        nominal = categorical if isinstance(categorical, bool) else as_keys(categorical)
        beside: dict[str, Any] = {}
        if is_annotated(frame):
            # Formats are plugins: datasets, and stored runs, are there without them.
            from fsframe.table.files.array_files import annotated_columns

            table: Table = annotated_columns(frame, layer, roles)
            beside = {name: frame.obs[name] for name in frame.obs}
        else:
            table = FrameColumns(frame)
        data = dataset_of(
            table,
            roles,
            task if event is None else "regression",
            name,
            given=said({**roles, "drop": as_keys(drop), "categorical": nominal}),
        )
        codes = () if isinstance(nominal, bool) else nominal
        data = data.with_roles(feature_groups, time, adjust, beside, codes, **further)
        return data.with_events(event, beside).encoded(encode)

    def with_roles(
        self,
        feature_groups: Mapping[str, Sequence[str]] | None = None,
        time: str | None = None,
        adjust: str | Iterable[str] = (),
        beside: Mapping[str, Any] | None = None,
        nominal_beside: Collection[str | int] = (),
        **sides: str | Iterable[str],
    ) -> Dataset:
        """The table with roles for columns: groups of features, time, covariates.

        Parameters
        ----------
        feature_groups : mapping of str to sequence of str, optional
            Features that are kept or dropped together, by the name of their group.
        time : str, optional
            Column of the time of each row; no longer a feature.
        adjust : str or several
            Covariates to adjust for; no longer features.
        beside : mapping of str to (n_samples,) numbers or text, optional
            Further columns that `time` and `adjust` may name.
        nominal_beside : collection of str
            Those of `beside` whose numbers are codes of categories.
        sides : str or several
            Columns of further side roles; no longer features.

        Raises
        ------
        DataError
            If there is no such column, it has gaps, or no feature is left.

        Examples
        --------
        >>> data = Dataset.from_arrays([[1.0, 7, 0], [2, 8, 1]], ["a", "b"])
        >>> data.with_roles(time="f1", adjust="f3").feature_names
        ('f2',)
        """
        names = {"time": names_of(time), "adjust": names_of(adjust)}
        names |= asked_sides(sides, "with_roles")
        if self.in_parts and any(names.values()):
            raise DataError(
                f"{self.name}: a table in parts supports neither a time (--time) nor covariates "
                "(--adjust); read it into memory"
            )
        place = {name: column for column, name in enumerate(self.feature_names)}
        known = [*place, *(beside or {})]
        names = spelled_out(names, known)
        unknown = [
            f"{self.name}: no column {name!r} ({option}){did_you_mean(name, known)}"
            for option, wanted in names.items()
            for name in wanted
            if name not in known
        ]
        if unknown:
            raise DataError("\n".join(unknown))
        by_role: dict[str, Any] = {}
        for option, wanted in names.items():
            columns, nominal = {}, []
            for name in wanted:
                at = place.get(name)
                columns[name] = beside[name] if at is None else self.columns(at, at + 1)[:, 0]  # type: ignore[index]
                nominal.append(name in nominal_beside if at is None else bool(self.categorical[at]))
            if option == "time":
                columns = {name: days_of_texts(values, name) for name, values in columns.items()}
            if columns:
                by_role[option] = SideColumns.of(columns, nominal, f"{self.name}, column")
        taken = {name for wanted in names.values() for name in wanted}
        if time in names["adjust"]:
            raise DataError(f"{self.name}: column {time!r} cannot be both the time and a covariate")
        left = np.array([k for k, name in enumerate(self.feature_names) if name not in taken])
        if not left.size:
            raise DataError(f"{self.name}: no feature is left besides {', '.join(sorted(taken))}")
        data = self.take_columns(left)
        groups = {name: tuple(members) for name, members in (feature_groups or {}).items()}
        feature_sets(groups, data.feature_names)
        # The time may count the rows, so that the warning about it is dropped.
        counting = f"1 column counting the rows: {time};"
        notes = [note for note in data.warnings if not note.startswith(counting)]
        if covariates := by_role.get("adjust"):
            told = zip(covariates.names, covariates.values.T, covariates.nominal, strict=True)
            codes = (numbers_as_codes(name, values) for name, values, known in told if not known)
            notes += filter(None, codes)
        return attrs.evolve(
            data,
            warnings=tuple(notes),
            feature_groups=groups or data.feature_groups,
            times=by_role.pop("time", data.times),
            covariates=by_role.pop("adjust", data.covariates),
            sides={**data.sides, **by_role},
        )

    def with_events(self, event: str | None, beside: Mapping[str, Any] | None = None) -> Dataset:
        """The table with the label as survival times; unchanged without a column of events.

        The column says whether each time ended with the event or was censored: by 1 and 0, by 2 and
        1, or by words such as dead and alive (`event_levels`). It is no longer a feature.

        Parameters
        ----------
        event : str, optional
        beside : mapping of str to (n_samples,) numbers or text, optional
            Further columns that `event` may name.

        Raises
        ------
        DataError
            If there is no such column, or its values or the times are invalid (`signed_times`).

        Examples
        --------
        >>> data = Dataset.from_arrays([[0.5, 1], [2, 0]], [3.5, 7], ["a", "dead"])
        >>> data.with_events("dead")
        <Dataset 'data': 2 samples × 1 features (float64); time class: 3.5 to 7; 1 of 2 events seen>
        """
        if event is None:
            return self
        data, levels = self, None
        if event in self.feature_names:
            place = self.feature_names.index(event)
            values = np.asarray(self.columns(place, place + 1))[:, 0]
            if self.categorical[place]:
                levels = self.kinds[event].levels if event in self.kinds else None
            data = self.take_columns(np.delete(np.arange(self.n_features), place))
        elif event in (beside or {}):
            values = np.asarray(beside[event])  # type: ignore[index]
        else:
            known = [*self.feature_names, *(beside or {})]
            hint = did_you_mean(event, known)
            raise DataError(f"{self.name}: no column {event!r} for the events{hint}")
        seen, note = events_of(values, levels, event)
        y = freeze(signed_times(self.y, seen, self.label_name, event))
        about = (
            f"text in column {event!r} was coded",
            f"column {event!r} was read as",
            f"1 column with one value only: {event};",
        )
        notes = [text for text in data.warnings if not text.startswith(about)]
        return attrs.evolve(
            data, y=y, classes=(), task="survival", warnings=(*notes, *([note] if note else []))
        )

    def encoded(self, how: str | None) -> Dataset:
        """With ``"onehot"``, indicator columns instead of nominal ones; unchanged with None.

        Each level becomes a column ``NAME=LEVEL`` at the place of the nominal column; two levels
        become one column, for the second. A missing value is missing in all.

        Raises
        ------
        DataError
            If a name would occur twice, or the table is in parts.
        RequestError
            If `how` is neither ``"onehot"`` nor None.

        Examples
        --------
        >>> data = Dataset.from_arrays([[1.0, 3], [2, 4], [3, 5]], [0, 1, 0], categorical=[1])
        >>> data.encoded("onehot").feature_names
        ('f1', 'f2=3', 'f2=4', 'f2=5')
        """
        check_readings(encode=how)
        places = [] if how is None else np.flatnonzero(self.categorical).tolist()
        if not places:
            return self
        if self.in_parts:
            raise DataError(
                f"{self.name}: a table in parts cannot be encoded; load it (`data.loaded()`), or "
                "declare its columns as numbers"
            )
        blocks: list[NDArray[Any]] = []
        names: list[str] = []
        kinds = dict(self.kinds)
        groups = dict(self.feature_groups)
        keep = np.zeros(self.n_features, bool) if self.keep is None else self.keep
        kept: list[bool] = []
        start = 0
        for place in [*places, self.n_features]:
            blocks.append(np.asarray(self.columns(start, place), dtype=self._kind))
            names += self.feature_names[start:place]
            kept += keep[start:place].tolist()
            start = place + 1
            if place == self.n_features:
                break
            name, values = self.feature_names[place], self.columns(place, place + 1)[:, 0]
            codes = np.unique(values[~np.isnan(values)])
            spelled = kinds.pop(name).levels if name in kinds else ()
            before = len(names)
            for code in (codes[1:] if len(codes) == 2 else codes).tolist():
                level = spelled[int(code)] if spelled else level_text(code)
                column = (values == code).astype(self._kind)
                if self._kind.kind == "f":
                    column[np.isnan(values)] = np.nan
                blocks.append(column[:, None])
                names.append(f"{name}={level}")
                kept.append(bool(keep[place]))
                kinds[names[-1]] = ColumnKind("indicator", (level,), name)
            _replace_in_groups(groups, name, tuple(names[before:]))
        return attrs.evolve(
            self,
            matrix=freeze(np.ascontiguousarray(np.concatenate(blocks, axis=1))),
            feature_names=as_names(names, len(names)),
            categorical=np.zeros(len(names), dtype=bool),
            kinds=kinds,
            keep=kept_columns(np.array(kept), len(names)),
            feature_groups=groups,
        )


def dataset_of(
    table: Table, roles: Mapping[str, Any], task: str | None, name: str, given: Mapping[str, Any]
) -> Dataset:
    """The Dataset called `name` of a table, without the roles that a Dataset gives its columns.

    The other arguments are those of `fsframe.table.assembly.from_columns`.
    """
    parts = from_columns(table, roles, task, given=given)
    data = Dataset.from_arrays(**parts, name=name)
    reviewed = feature_warnings(data.matrix, data.feature_names, takes_codes=table.takes_codes)
    return attrs.evolve(data, warnings=(*table.notes, *data.warnings, *reviewed))
