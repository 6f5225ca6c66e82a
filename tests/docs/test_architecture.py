"""The picture of the rooms is drawn from the code as it is, and no room is left out of the page."""

from __future__ import annotations

import copy
import re
from types import ModuleType

import pytest

from tests.scripts import ROOT, script

DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def drawing() -> ModuleType:
    module = script("docs/make_architecture.py")
    # All files are parsed once for all tests.
    found = module.rooms()
    module.rooms = lambda: copy.deepcopy(found)
    return module


def test_rooms_import_downwards_only(drawing: ModuleType) -> None:
    arrows = drawing.rooms()
    arrows.pop("fsframe")
    heights = drawing.floors(arrows)
    assert heights["registry"] == 0 < heights["table"] < heights["method"]
    assert heights["cli"] == max(heights.values())


def test_a_circle_of_rooms_is_reported(drawing: ModuleType) -> None:
    with pytest.raises(ValueError, match="a -> b -> a"):
        drawing.floors({"a": {"b"}, "b": {"a"}})


def test_the_picture_shows_the_arrows_of_today(drawing: ModuleType) -> None:
    kept = drawing.PICTURE.read_text(encoding="utf-8")
    assert kept == drawing.picture(), "run: python docs/make_architecture.py"


def test_every_room_is_on_the_page(drawing: ModuleType) -> None:
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    for room in drawing.rooms():
        assert f"`{room}`" in page or f"`{room}/" in page, room


def test_recipes_name_files_that_exist() -> None:
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    recipes = page[page.index("## Recipes") :]
    places = [ROOT, ROOT / "plugins", ROOT / "fsframe"]
    named = re.findall(r"`((?:fsframe_\w+|storage|execution|cli)/[\w/]+(?:\.py|\.toml)?)`", recipes)
    assert len(named) >= 9
    for path in named:
        assert any((place / path).exists() for place in places), path
