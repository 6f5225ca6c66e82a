"""Checkpoints: the folder beside a run file that holds finished units while the run is going,
and the lock on it, which records its holder and is released when the holder dies.

See docs/resume.md.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsframe.atomic import as_store_errors, check_destination, place_file
from fsframe.errors import StoreError
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.storage.encoding import numeric_differences
from fsframe.storage.unit_bytes import pack, unpack
from fsframe.storage.unit_files import (
    MANIFEST,
    Manifest,
    Place,
    Unit,
    call_key,
    read_index,
    read_unit,
    unit_file,
)
from fsframe.system import (
    boot_id,
    lock_file,
    open_lock,
    process_exists,
    release_lock,
)
from fsframe.table.dataset import Dataset
from fsframe.text import printable

_MOST_BYTES = 10_000


@attrs.frozen(kw_only=True)
class Holder:
    """The process that took a lock, as the lock's file records it.

    Parameters
    ----------
    pid : int
    host : str
    boot : str
        Boot identifier of the machine; empty if unknown.
    since : str
        When it took the lock, for messages only.
    """

    pid: int
    host: str = ""
    boot: str = ""
    since: str = ""

    @classmethod
    def this_process(cls) -> Holder:
        """The current process."""
        return cls(
            pid=os.getpid(),
            host=socket.gethostname(),
            boot=boot_id(),
            since=datetime.now().astimezone().isoformat(timespec="seconds"),
        )

    def is_gone(self, locked: bool | None) -> bool:
        """Whether it is known to hold the lock no more; `locked` as from `lock_file`."""
        same_name = self.host == socket.gethostname()
        same_start = bool(self.boot) and self.boot == boot_id()
        if locked:
            # One kernel manages the locks of all its containers, whatever they are called.
            return same_name or same_start
        # A container, which has numbers of its own, has a name of its own.
        return same_name and (self.boot != boot_id() or process_exists(self.pid) is False)

    def __str__(self) -> str:
        where = "" if self.host == socket.gethostname() else f" on {printable(self.host)}"
        since = f", since {printable(self.since)}" if self.since else ""
        return f"process {self.pid}{where}{since}"


class FolderLock:
    """An exclusive lock on a folder, until `release` or the end of the process.

    The system's lock on the file ``lock`` decides; the file's content names the holder. A file that
    a process of another machine left is respected, since not all file systems share their locks.
    Where there are no locks, so is one of a process of this machine whose number is in use.
    """

    def __init__(self, folder: Path, descriptor: int) -> None:
        self._folder = folder
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, folder: Path) -> FolderLock:
        """Take the lock of an existing folder.

        Raises
        ------
        StoreError
            If it cannot be taken; the message names the holder, or the reason.
        """
        path = folder / "lock"
        while True:
            with as_store_errors(f"cannot write {path}", "; choose another place"):
                descriptor = open_lock(path)
            try:
                if cls._take(path, descriptor):
                    return cls(folder, descriptor)
            except BaseException:
                os.close(descriptor)
                raise
            # The holder has finished and removed the file meanwhile.
            os.close(descriptor)

    @staticmethod
    def _take(path: Path, descriptor: int) -> bool:
        locked = lock_file(descriptor)
        holder = _read(descriptor)
        if locked is False:
            raise _held(path, holder, locked)
        try:
            if os.fstat(descriptor).st_ino != os.stat(path).st_ino:
                return False
        except FileNotFoundError:
            return False
        if holder is not None and not holder.is_gone(locked):
            raise _held(path, holder, locked)
        record = json.dumps(attrs.asdict(Holder.this_process())).encode()
        with as_store_errors(f"cannot write {path}", "; free space or choose another place"):
            os.ftruncate(descriptor, 0)
            os.lseek(descriptor, 0, os.SEEK_SET)
            os.write(descriptor, record)
        return True

    def release(self) -> None:
        """Release the lock and remove its file."""
        if self._descriptor is None:
            return
        descriptor, self._descriptor = self._descriptor, None
        release_lock(self._folder / "lock", descriptor)


def _read(descriptor: int) -> Holder | None:
    try:
        os.lseek(descriptor, 0, os.SEEK_SET)
        content: Any = json.loads(os.read(descriptor, _MOST_BYTES))
        texts = {name: str(content[name]) for name in ("host", "boot", "since")}
        return Holder(pid=int(content["pid"]), **texts)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _held(path: Path, holder: Holder | None, locked: bool | None) -> StoreError:
    folder, here = path.parent, socket.gethostname()
    if holder is None:
        return StoreError(f"{folder} is in use by another run; wait for it, or stop it")
    if holder.pid == os.getpid() and holder.host == here:
        return StoreError(
            f"{folder} is in use by another run of this process; wait for it, or choose another "
            "run file for this one"
        )
    if locked is None or holder.host != here:
        return StoreError(
            f"{folder} is in use by {holder}; wait for it. If that process is gone, remove {path} "
            "and try again"
        )
    return StoreError(
        f"{folder} is in use by {holder}; wait for it, or stop it (kill {holder.pid})"
    )


_UNITS = re.compile(r"units-([0-9]{6,12})")
_BUFFER_BYTES = 1 << 26


def units_folder(out: str | os.PathLike[str]) -> Path:
    """Folder for the units of the run that will write the file `out`.

    >>> units_folder("/data/sonar.mim-npfs.h5").name
    'sonar.mim-npfs.h5.units'
    """
    target = Path(os.path.realpath(out))
    return target.with_name(f"{target.name}.units")


class Checkpoint:
    """Finished units of one run, stored until its run file is written.

    Use `Checkpoint.open`. Its methods may be called from several threads.

    Parameters
    ----------
    out : Path
        The run file that will be written.
    lock : FolderLock
    every : float
        Seconds of work that may be lost: units that finish within this time are written together,
        so that many small units cost one write.

    Notes
    -----
    A file ``units-000001`` is written under another name, synced and moved into place; it is never
    changed. A run that is killed loses the units that finished after the last file, and no others.
    """

    def __init__(self, out: Path, lock: FolderLock, every: float = 0.2) -> None:
        self.out = out
        self.folder = units_folder(out)
        self.notes: list[str] = []
        self.mixed: list[str] = []
        self._lock = lock
        self._every = every
        self._places: dict[str, dict[Unit, Place]] = {}
        self._waiting: list[tuple[Unit, bytes]] = []
        self._last_write = time.monotonic()
        self._number = 0
        self._closed = False
        self.kept: Callable[[Unit], object] = lambda unit: None
        """Called with each unit once it is on disk."""
        self.finished = False
        """Whether the run file exists, so that no unit is needed any more."""
        self._guard = threading.RLock()

    @classmethod
    def open(
        cls,
        out: str | os.PathLike[str],
        manifest: Manifest,
        *,
        restart: bool = False,
        overwrite: bool = False,
        mixed: bool = False,
        every: float = 0.2,
    ) -> Checkpoint:
        """The checkpoint of the run that will write `out`, with the units of an earlier attempt.

        Parameters
        ----------
        out : path
            The run file that will be written.
        manifest : Manifest
            Description of the run.
        restart : bool
            Whether to discard the units of an earlier attempt.
        overwrite : bool
            Whether a file at `out` may be replaced in the end.
        mixed : bool
            Whether units may have another numeric fingerprint (`numerics`); the attribute `mixed`
            then lists the differences from what is computed now.

        Raises
        ------
        StoreError
            If another process holds the folder, it belongs to another run (stating the
            differences), or it is not writable.
        """
        target = check_destination(out, overwrite=overwrite)
        checkpoint = cls._locked(target, every)
        try:
            if restart:
                checkpoint._remove_units()
            checkpoint._adopt(manifest, mixed)
        except BaseException:
            checkpoint._abandon()
            raise
        return checkpoint

    @classmethod
    def _locked(cls, target: Path, every: float) -> Checkpoint:
        folder = units_folder(target)
        for _ in range(100):
            try:
                folder.mkdir(exist_ok=True)
                return cls(target, FolderLock.take(folder), every)
            except FileExistsError:
                raise StoreError(f"{folder} is in the way: it is not a folder; remove it") from None
            except OSError as error:
                raise StoreError(
                    f"cannot make {folder}: {error.strerror or error}; choose another place"
                ) from error
            except StoreError:
                # A process that was just finishing has removed the folder.
                if folder.is_dir():
                    raise
        raise StoreError(
            f"cannot take {folder}: another process keeps creating and removing it; try again"
        )

    def _adopt(self, manifest: Manifest, mixed: bool) -> None:
        numbered = self._unit_files()
        try:
            stored = Manifest.of_folder(self.folder)
        except StoreError as error:
            if numbered:
                raise self._unknown_run_error(str(error), numbered) from error
            # It may be a link, through which nothing is to be written.
            _remove(self.folder / MANIFEST)
            stored = None
        if stored is not None:
            reasons = stored.differences(manifest, mixed=mixed)
            if reasons:
                raise self._other_run_error(reasons, stored.differences(manifest, mixed=True))
            self._mix(stored, manifest, max(numbered, default=0))
        elif numbered:
            raise self._unknown_run_error("its manifest is missing", numbered)
        else:
            manifest.keep(self.folder)
        self._sweep()
        for number, file in sorted(numbered.items()):
            self._number = max(self._number, number)
            try:
                for unit, place in read_index(file).items():
                    self._places.setdefault(unit.call, {})[unit] = place
            except StoreError as error:
                self.notes.append(f"{file} cannot be used ({error}); its units are computed again")
                with contextlib.suppress(OSError):
                    os.replace(file, file.with_name(f"damaged-{file.name}"))

    def _unknown_run_error(self, reason: str, numbered: Collection[int]) -> StoreError:
        files = "1 file" if len(numbered) == 1 else f"{len(numbered)} files"
        return StoreError(
            f"{self.folder} holds {files} of finished units, but it is not known "
            f"which run they belong to: {reason}. They were left unchanged: restore `manifest`, "
            "choose another run file (--out), or discard them (--restart, restart=True)"
        )

    def _other_run_error(self, reasons: list[str], others: list[str]) -> StoreError:
        if others:
            ways = f"Finish it (fsframe resume {self.out}), choose another run file (--out)"
        else:
            ways = (
                "Results computed here may differ in the last bits. Continue where the run was "
                "started, or accept results of both in one run file, which records this "
                "(--mixed, mixed=True)"
            )
        return StoreError(
            f"{self.folder} holds an unfinished run that this one cannot continue: "
            f"{'; '.join(reasons)}. {ways}, or discard it (--restart, restart=True)"
        )

    def _mix(self, stored: Manifest, manifest: Manifest, last: int) -> None:
        """Record in the manifest which files of units have which numeric fingerprint."""
        now = dict(manifest.numerics)
        earlier = stored.earlier
        if stored.numerics and dict(stored.numerics) != now:
            # A process that stored no units does not count.
            if last > (earlier[-1][0] if earlier else 0):
                earlier = (*earlier, (last, stored.numerics))
            joint = attrs.evolve(stored, numerics=now, software=manifest.software, earlier=earlier)
            joint.keep(self.folder)
        for _, numerics in earlier:
            self.mixed += [
                each for each in numeric_differences(numerics, now) if each not in self.mixed
            ]

    def _unit_files(self) -> dict[int, Path]:
        """The files of finished units by their number."""
        with as_store_errors(f"cannot read {self.folder}"):
            found = {name: _UNITS.fullmatch(name) for name in os.listdir(self.folder)}
        return {int(match[1]): self.folder / name for name, match in found.items() if match}

    def _sweep(self) -> None:
        """Remove temporary files of a killed writer; this process holds the lock."""
        partial_names = re.escape(f".{self.out.name[:200]}.")
        for folder, name in ((self.folder, r"\..*"), (self.out.parent, partial_names)):
            pattern = re.compile(rf"{name}[0-9]+-[0-9a-f]{{8}}\.partial")
            with contextlib.suppress(OSError):
                for entry in os.listdir(folder):
                    if pattern.fullmatch(entry):
                        os.unlink(folder / entry)

    @property
    def n_parts(self) -> int:
        """Number of resamples and stages on disk now, without those of missing files."""
        with self._guard:
            try:
                names = set(os.listdir(self.folder))
            except OSError:
                return 0
            return sum(
                unit.stop - unit.start
                for units in self._places.values()
                for unit, place in units.items()
                if place.path.name in names
            )

    def units(self, call: str) -> list[Unit]:
        """The finished units of a call, in order, none overlapping another."""
        with self._guard:
            units: list[Unit] = []
            for unit in sorted(self._places.get(call, ()), key=lambda u: (u.start, u.stop)):
                if not units or unit.start >= units[-1].stop:
                    units.append(unit)
            return units

    def load(self, unit: Unit) -> bytes:
        """The bytes of a finished unit, verified; StoreError if they have changed."""
        with self._guard:
            place = self._places[unit.call][unit]
        return read_unit(place)

    def commit(self, unit: Unit, content: bytes) -> None:
        """Store a finished unit: at once, or with those that finish within `every` seconds.

        Raises
        ------
        StoreError
            If it cannot be written, for example because the disk is full. What was on disk stays.
        """
        with self._guard:
            if self._closed:
                return
            self._waiting.append((unit, content))
            size = sum(len(waiting) for _, waiting in self._waiting)
            if time.monotonic() - self._last_write >= self._every or size >= _BUFFER_BYTES:
                self.flush()

    def flush(self) -> None:
        """Write pending units to disk."""
        with self._guard:
            if not self._waiting:
                return
            self._number += 1
            path = self.folder / f"units-{self._number:06d}"
            place_file(path, unit_file(self._waiting))
            for unit, place in read_index(path).items():
                self._places.setdefault(unit.call, {})[unit] = place
            written = [unit for unit, _ in self._waiting]
            self._waiting.clear()
            self._last_write = time.monotonic()
            for unit in written:
                self.kept(unit)

    def close(self) -> None:
        """Write pending units and release the folder, which is removed if it holds no unit.

        Raises
        ------
        StoreError
            If pending units cannot be written; the folder is released all the same.
        """
        with self._guard:
            if self._closed:
                return
            self._closed = True
            try:
                self.flush()
            finally:
                self._abandon()

    def finish(self, place: Callable[[], object] = lambda: None) -> None:
        """Write the run file by calling `place`, then remove the folder.

        `hold` takes effect before both or after both. If the folder cannot be removed, the run has
        not failed: a note is added to `notes`.
        """
        with self._guard:
            place()
            self._closed = self.finished = True
            self._waiting.clear()
            try:
                self._remove_units()
            except StoreError as error:
                self.notes.append(
                    f"{self.out} is written, but {error}; {self.folder} is no longer needed"
                )
            self._abandon()

    def hold(self) -> None:
        """Close, and block writes by other threads: this process is about to exit.

        `n_parts` and other properties no longer change.

        Raises
        ------
        StoreError
            As in `close`.
        """
        self._guard.acquire()
        self.close()

    def _remove_units(self) -> None:
        # First: after an interrupt they must not be reported as kept.
        self._places.clear()
        for path in (*self._unit_files().values(), *self.folder.glob("damaged-units-[0-9]*")):
            _remove(path)
        _remove(self.folder / MANIFEST)

    def _abandon(self) -> None:
        self._closed = True
        with contextlib.suppress(StoreError):
            if not self._unit_files():
                _remove(self.folder / MANIFEST)
        self._lock.release()
        # Only if empty: other files in it are not ours.
        with contextlib.suppress(OSError):
            os.rmdir(self.folder)

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fit_steps(self, what: str, data: Dataset, run: Run, upstream: Selection | None) -> FitSteps:
        """The steps of one long fit, as `fsframe.method.run.Run.units` describes them."""
        call = call_key("own", what, data, run, upstream=upstream)
        return FitSteps(self, call, {unit.start: unit for unit in self.units(call)})


@attrs.frozen
class FitSteps:
    """The steps of one fit, by number; `fsframe.method.run.Run.units` makes it.

    `call` is the key of the fit, under which `checkpoint` stores finished steps, which are `known`.
    """

    _checkpoint: Checkpoint
    _call: str
    _known: Mapping[int, Unit]

    def get(
        self, number: int, compute: Callable[[], Mapping[str, ArrayLike]]
    ) -> dict[str, NDArray[Any]]:
        """The arrays of step `number` ≥ 0: stored by an earlier attempt, else from `compute`.

        Numbers, truth values or texts by name, row-major; the same bits whether stored or just
        computed. StoreError if they cannot be kept, or what was kept has changed.
        """
        known = self._known.get(number)
        if known is not None:
            return unpack(self._checkpoint.load(known))[0]
        arrays = {name: np.array(value, order="C") for name, value in compute().items()}
        self._checkpoint.commit(Unit(self._call, number, number + 1), pack(arrays))
        return arrays


def _remove(path: Path) -> None:
    with as_store_errors(f"cannot remove {path}"), contextlib.suppress(FileNotFoundError):
        os.unlink(path)
