"""Who can have written a file that is about to be executed, such as compiled kernels.

By owner and permission bits of POSIX; access control lists, with which an owner can let others
write, are not read. Where files have no owners that can be checked (Windows), none is trusted.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from fsframe.system import group_name, is_private_group, user_name, user_number

UNKNOWN = "cannot be checked for its owner on this system"


def trusted_owners(source: Path) -> frozenset[int]:
    """The users who can change what this process executes anyway, by number.

    This user, root, and the owner of `source`, a Python file that this process has imported; empty
    where files have no owners that can be checked.
    """
    me = user_number()
    if me is None:
        return frozenset()
    owners = {me, 0}
    # A source in an archive, or gone since, has none.
    with contextlib.suppress(OSError):
        owners.add(os.stat(source).st_uid)
    return frozenset(owners)


def distrust(state: os.stat_result, owners: frozenset[int]) -> str:
    """Why somebody else than `owners` can have written a file or folder; empty if nobody can.

    Write permission for the group is accepted if the group is private to the owner: the owner's
    primary group, with the same name and no other members (the default of Debian, Ubuntu and Red
    Hat).
    """
    if user_number() is None:
        return UNKNOWN
    if state.st_uid not in owners:
        return f"belongs to {_user(state.st_uid)}, not to you, root or the owner of the program"
    if state.st_mode & stat.S_IWOTH:
        return "can be written to by everybody"
    if state.st_mode & stat.S_IWGRP and not is_private_group(state.st_uid, state.st_gid):
        return f"can be written to by the group {_group(state.st_gid)}"
    return ""


def distrust_folder(folder: Path, owners: frozenset[int]) -> str:
    """Why somebody else than `owners` can have put files into a folder, or put the folder there.

    Empty if nobody can, or there is no such folder. Who can write to a folder above can replace
    this one by one of their own, which is then refused; by a link only if the link is their own,
    which is refused too.
    """
    if user_number() is None:
        return UNKNOWN
    try:
        for above in folder.parents:
            state = os.lstat(above)
            if stat.S_ISLNK(state.st_mode) and state.st_uid not in owners:
                return f"is reached by a link, {above}, that belongs to {_user(state.st_uid)}"
        state = os.lstat(folder)
        if stat.S_ISLNK(state.st_mode):
            return "is a link"
        return distrust(state, owners)
    except OSError:
        return ""


def _user(number: int) -> str:
    name = user_name(number)
    return f"user {number}" if name is None else f"{name} (user {number})"


def _group(number: int) -> str:
    return group_name(number) or str(number)
