"""A plugin whose every text would steer a terminal."""

import attrs

from fsframe.method.selector import Selector
from fsframe.params import param, real
from fsframe.registry.entries import SelectorEntry
from fsframe.registry.hookspecs import hookimpl

STEERING = "\x1b[2J\x9b1m\u202e\r"


@hookimpl
def fsframe_selectors():
    yield SelectorEntry(name="fake-steering", target="fake_steering:FakeSteering", family="fake")


@attrs.frozen(kw_only=True)
class FakeSteering(Selector):
    __doc__ = f"Columns{STEERING}.\n\n    run.h5: sound{STEERING}\n    "

    power: float = param(
        1.0, real(above=0), help=f"Exponent{STEERING}.", symbol=STEERING, source=STEERING
    )

    def _select(self, data, upstream, run):
        raise RuntimeError(f"a\nrun.h5: sound{STEERING}")
