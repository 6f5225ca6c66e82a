"""Shell completion: stages, parameters and their words."""

from __future__ import annotations

import pytest

from tests.same_process import fsframe


def offered(line: str) -> list[str]:
    """What bash would be offered at the end of `line`."""
    words = line.split()
    count = len(words) if line.endswith(" ") else len(words) - 1
    done = fsframe(
        env={"_FSFRAME_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(count)}
    )
    assert done.err == ""
    return [found.partition(",")[2] for found in done.out.splitlines()]


@pytest.mark.parametrize(
    ("line", "wanted", "unwanted"),
    [
        ("fsframe ch", ["chain", "check"], ["methods"]),
        ("fsframe chain im", ["im4e", "immigrate"], ["mim"]),
        ("fsframe chain mim ", ["npfs", "relieff", "margin", "on"], []),
        ("fsframe chain mim o", ["on"], ["npfs"]),
        ("fsframe chain immigrate --s", ["--sigma", "--start", "--standardize"], ["--max-iter"]),
        ("fsframe chain immigrate --update ", ["elementwise", "psd-clip"], []),
        ("fsframe chain mim immigrate --update e", ["elementwise"], ["psd-clip"]),
        ("fsframe chain immigrate:s", ["immigrate:sigma="], ["immigrate:max_iter="]),
        ("fsframe chain immigrate:sigma=1,up", ["immigrate:sigma=1,update="], []),
        ("fsframe chain immigrate:update=e", ["immigrate:update=elementwise"], []),
        ("fsframe chain nonsense:s", [], ["nonsense:sigma="]),
        ("fsframe chain mim on data.csv --s", ["--seed", "--scheduler"], ["--sigma"]),
        ("fsframe methods reli", ["relief", "relieff"], ["mim"]),
        ("fsframe check kun", ["kuncheva"], ["kendall"]),
        ("fsframe evaluate im", ["immigrate"], []),
    ],
)
def test_the_shell_is_offered_what_fits(line: str, wanted: list[str], unwanted: list[str]) -> None:
    found = offered(line)
    assert set(wanted) <= set(found)
    assert not set(unwanted) & set(found)


def test_the_shell_is_offered_files_for_data() -> None:
    done = fsframe(
        env={
            "_FSFRAME_COMPLETE": "bash_complete",
            "COMP_WORDS": "fsframe chain mim on ",
            "COMP_CWORD": "4",
        }
    )
    assert done.out.startswith("file,")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_its_script(shell: str) -> None:
    done = fsframe(env={"_FSFRAME_COMPLETE": f"{shell}_source"})
    assert "_FSFRAME_COMPLETE" in done.out
