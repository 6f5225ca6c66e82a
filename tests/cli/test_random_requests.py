"""Random command lines and chains: an answer, or a refusal with an exit code of the table.

Words are drawn from what the commands declare, from chains, from what is near to right, and from
anything at all. The usual suite tries some hundred; the long form, 20,000 of each:

    pytest -m slow -s tests/cli/test_random_requests.py
"""

from __future__ import annotations

import contextlib
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from fsframe import selectors
from fsframe.chains.chain import Chain
from fsframe.cli import cli
from fsframe.errors import FsframeError

from .conftest import LONGEST, Call, TooLong, within_seconds

# `warm` compiles for a minute, `check` runs all checks; both take names, which others take too.
COMMANDS = sorted(set(cli.list_commands(click.Context(cli))) - {"warm", "check"})
CHEAP = ("mim:top=2", "anova-f", "chi2:top=1", "knn", "fcbf", "ensemble:n=2,base=mim", "variance")
CODES = {0, 1, 2, 3, 4, 5}
FALLEN = -1
_ODD = (
    "", " ", "-", "--", "on", "=", ":", ",", "{1,2}", "{", "(", ")", "[1", "é", "\x1b[2J", "\\",
    "'", "-1", "0", "1e20", "nan", "inf", "1e-320", "0x10", "9" * 400, "a" * 5000,
    "../..", "/", "NUL", "\udcff", "\u202e", "=cmd()", "$\\frac$", "<b>", "%s", "small.csv",
    "run.h5", "4294967296",
    "none.csv", "odd.h5", "mim,jmi", "top=2", "mim:top", "mim:top=", "mim:top=0", "mim:tip=1",
    "mim::", "mim:top=1:k=2",
)  # fmt: skip


def options_of(name: str) -> list[click.Option]:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    return [param for param in command.params if isinstance(param, click.Option)]


def value(chance: random.Random) -> str:
    if chance.random() < 0.5:
        return chance.choice(_ODD)
    return chance.choice(("2", "0.5", "class", "a,b", "1", "csv", "all", "state", "2GB", "a=1<2"))


def random_chain(chance: random.Random) -> str:
    """A chain that may be one."""
    parts = []
    for _ in range(chance.choice((0, 1, 1, 2, 3))):
        word = chance.choice((*CHEAP, chance.choice(sorted(selectors)), chance.choice(_ODD)))
        if chance.random() < 0.3:
            word += chance.choice(":=,(){}") + chance.choice(("top", "n", "k", "base", "sigma", ""))
            word += chance.choice(("=", "", ":")) + value(chance)
        if chance.random() < 0.2:
            k = chance.randrange(len(word) + 1)
            word = word[:k] + chance.choice(_ODD)[:3] + word[k + 1 :]
        parts.append(word)
    return chance.choice((" ", " ", "  ", ",")).join(parts)


def random_request(chance: random.Random) -> list[str]:
    name = chance.choice((*COMMANDS, "chain", "evaluate", chance.choice(_ODD)))
    words = [name]
    if name in ("chain", "evaluate", "stability", "compare"):
        # One in two is right so far.
        right = chance.random() < 0.5
        words += [chance.choice(CHEAP)] if right else random_chain(chance).split(" ")
        words += ["on", "small.csv"] if right or chance.random() < 0.6 else [value(chance)]
        words += ["--no-out"] if chance.random() < 0.5 and name != "compare" else []
        words += ["--folds", "2", "--repeats", "1"] if name in ("evaluate", "compare") else []
    else:
        words += [chance.choice(("run.h5", "small.csv", value(chance)))]
        words += ["on", "small.csv"] if chance.random() < 0.3 else []
    known = options_of(name) if name in COMMANDS else []
    # Other processes are tested elsewhere; `--traceback` prints what must not be seen here.
    known = [o for o in known if o.name not in ("workers", "scheduler", "engine", "traceback")]
    for _ in range(chance.choice((0, 0, 1, 1, 2, 4))):
        if known and chance.random() < 0.9:
            option = chance.choice(known)
            words.append(chance.choice(option.opts))
            if not option.is_flag:
                words.append(value(chance))
        else:
            words.append(value(chance))
    return words


def requests(call: Call, here: Path, trials: int, seed: int) -> Counter[int]:
    """How many requests ended with each exit code; all are tried before any that fell is told."""
    call("chain mim:top=2 on small.csv -q -o run.h5", code=0)
    chance, codes = random.Random(seed), Counter[int]()
    fallen: list[str] = []
    original = (here / "run.h5").read_bytes(), (here / "small.csv").read_bytes()
    for _ in range(trials):
        words = random_request(chance)
        try:
            with within_seconds(LONGEST):
                code = call(*words).code
        except (Exception, TooLong) as error:
            # `call` fails where there is a traceback.
            fallen.append(f"{words}: {error!r}"[:800])
            continue
        codes[code] += 1
        if code not in CODES:
            fallen.append(f"{words}: exit code {code}")
        if (here / "small.csv").read_bytes() != original[1]:
            fallen.append(f"{words}: the table is another")
            (here / "small.csv").write_bytes(original[1])
        (here / "run.h5").write_bytes(original[0])
    codes[FALLEN] = len(fallen)
    # In ASCII: workers of pytest-xdist cannot send half a surrogate pair, and would all end.
    print(*map(ascii, fallen[:50]), sep="\n")
    return codes


def test_random_command_lines_are_answered_or_refused(call: Call, here: Path) -> None:
    codes = requests(call, here, 120, seed=1)
    assert codes[0] and codes[2]
    assert not codes[FALLEN]


@pytest.mark.slow
def test_twenty_thousand_command_lines(call: Call, here: Path, count: Callable[..., None]) -> None:
    codes = requests(call, here, 20_000, seed=2)
    fallen = codes.pop(FALLEN)
    count("random command lines, each within 10 s", requests=20_000,
          tracebacks_other_codes_and_hangs=fallen,
          **{f"exit_{code}": times for code, times in sorted(codes.items())})  # fmt: skip
    assert not fallen


def parsed(trials: int, seed: int) -> tuple[int, int]:
    """Of random texts, how many were chains, and how many were refused; nothing else may be."""
    chance, good = random.Random(seed), 0
    for _ in range(trials):
        text = random_chain(chance)
        try:
            chain = Chain.parse(text)
        except FsframeError:
            continue
        good += 1
        # What is printed is what was meant.
        assert str(Chain.parse(str(chain))) == str(chain), text
    return good, trials - good


def test_random_chains_are_read_or_refused() -> None:
    good, refused = parsed(300, seed=3)
    assert good > 30 and refused > 30


@pytest.mark.slow
def test_twenty_thousand_chains(count: Callable[..., None]) -> None:
    good, refused = parsed(20_000, seed=4)
    count("random chains", chains=20_000, read=good, refused=refused, tracebacks=0)


def busy() -> None:
    end = time.process_time() + 3
    while time.process_time() < end:
        pass


def test_a_block_that_does_not_end_is_reported_whatever_it_catches() -> None:
    told = pytest.raises(TooLong, match="of the processor")
    with told, within_seconds(1), contextlib.suppress(BaseException):
        busy()
