"""An experiment tracker: every run as lines of JSON in the file that FAKE_TRACKER names."""

import json
import os

from fsframe.method.run import Observer
from fsframe.registry.entries import ObserverEntry
from fsframe.registry.hookspecs import hookimpl


class Tracker(Observer):
    def _write(self, event, **about):
        with open(os.environ["FAKE_TRACKER"], "a") as file:
            file.write(json.dumps({"event": event, **about}, default=str) + "\n")

    def run_began(self, run):
        self._write("began", **run)

    def unit_kept(self, unit):
        self._write("kept", **unit)

    def stage_ended(self, number, stage):
        self._write("stage", number=number, name=stage.name, seconds=stage.seconds)

    def run_ended(self, record):
        self._write("ended", selected=record.selected_names)

    def run_failed(self, error):
        self._write("failed", error=repr(error))


@hookimpl
def fsframe_events():
    yield ObserverEntry(name="tracker", target="fake_tracker:Tracker", summary="Runs as JSON")
