"""Who can have written a file that is about to be executed, such as compiled kernels.

By owner and permission bits of POSIX; access control lists, with which an owner can let others
write, are not read. (Windows, on which fsframe does not run, would need other checks.)
"""

from __future__ import annotations

import contextlib
import os
import stat
from functools import lru_cache
from pathlib import Path


def trusted_owners(source: Path) -> frozenset[int]:
    """The users who can change what this process executes anyway, by number.

    This user, root, and the owner of `source`, a Python file that this process has imported.
    """
    owners = {os.getuid(), 0}
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
    if state.st_uid not in owners:
        return f"belongs to {_user(state.st_uid)}, not to you, root or the owner of the program"
    if state.st_mode & stat.S_IWOTH:
        return "can be written to by everybody"
    if state.st_mode & stat.S_IWGRP and not _private(state.st_uid, state.st_gid):
        return f"can be written to by the group {_group(state.st_gid)}"
    return ""


def distrust_folder(folder: Path, owners: frozenset[int]) -> str:
    """Why somebody else than `owners` can have put files into a folder, or put the folder there.

    Empty if nobody can, or there is no such folder. Who can write to a folder above can replace
    this one by one of their own, which is then refused; by a link only if the link is their own,
    which is refused too.
    """
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


@lru_cache
def _private(user: int, group: int) -> bool:
    """Whether the group has no member but the user, as far as the system's lists tell."""
    import grp
    import pwd

    try:
        owner, found = pwd.getpwuid(user), grp.getgrgid(group)
    except KeyError:
        return False
    alone = set(found.gr_mem) <= {owner.pw_name}
    return owner.pw_gid == group and found.gr_name == owner.pw_name and alone


def _user(number: int) -> str:
    import pwd

    try:
        return f"{pwd.getpwuid(number).pw_name} (user {number})"
    except KeyError:
        return f"user {number}"


def _group(number: int) -> str:
    import grp

    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)
