"""Long bags through the routes: tiles, segments by range, and where things are, without decoding the recording."""

from __future__ import annotations

import io
import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import soundfile
from PIL import Image
from starlette.applications import Starlette
from starlette.testclient import TestClient

from miml_core.media.spectrogram import PRESETS, SpectrogramSettings, read_spectrogram
from miml_core.project import Project
from pages.widgets.app import open_projects
from pages.widgets.routes import canvas_routes, images
from pages.widgets.routes.auth import TOKEN
from pages.widgets.routes.bags import OPENING_SECONDS
from tests.browser.projects import long_project, picture_project

KEY = {"X-Bagtag-Token": TOKEN}
SECONDS, SEGMENTS = 600.0, 900


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    made = long_project(tmp_path_factory.mktemp("tiles") / "night", SECONDS, SEGMENTS, rate=8000, clips=(10.0,))
    made.close()
    return open_projects.open_once(made.folder)


@pytest.fixture(scope="module")
def client():
    with TestClient(Starlette(routes=canvas_routes()), base_url="http://localhost:8501") as client:
        yield client


@pytest.fixture
def get(client, project):
    root = f"/bagtag/{open_projects.key_of(project.folder)}"
    return lambda path, **headers: client.get(f"{root}/{path}", headers={**KEY, **headers})


def test_opening_a_bag_decodes_nothing(get, monkeypatch):
    """The extent comes from the header: three hours open as quickly as ten seconds."""

    def decode(*_, **__):
        raise AssertionError("sound was read")

    monkeypatch.setattr("miml_core.media.audio._read_frames", decode)
    images._places.clear()
    bag = get("bag/1").json()
    assert bag["extent"]["right"] == pytest.approx(SECONDS, abs=0.02) and bag["rate"] == 8000
    assert bag["tiles"]["width"] > 50 * bag["tiles"]["columns"]
    assert bag["opening"] == [0.0, OPENING_SECONDS] and get("bag/2").json()["opening"] is None


def test_the_extent_is_that_of_the_spectrogram_for_any_settings_rate_and_length(tmp_path):
    rng = np.random.default_rng(5)
    with Project.create(tmp_path / "project", kind="sound") as project:
        for number in range(24):
            rate = int(rng.choice([8000, 22_050, 44_100, 96_000]))
            n = int(rng.choice([1, 100, 5000, rate, 3 * rate + 7]))
            path = tmp_path / f"{number}.wav"
            soundfile.write(path, rng.normal(0, 0.1, n), rate, subtype="PCM_16")
            window = float(rng.uniform(0.002, 0.1))
            own = SpectrogramSettings(
                window=window,
                hop=window * float(rng.uniform(0.2, 1.0)),
                low=float(rng.uniform(0, 500)),
                scale=str(rng.choice(["linear", "mel"])),
                mel_bands=int(rng.integers(8, 90)),
            )
            chosen = own if number % 2 else PRESETS["birds"]
            project.set_settings(replace(project.settings, spectrogram=chosen))
            for bag in project.media.add([path], bag_length=2.0):
                shown = project.bags.get(bag)
                grid = read_spectrogram(path, shown.start, shown.end, chosen).grid
                place = images.placement(project, shown)
                assert place.extent == images._extent(grid) and place.rate == rate
                assert place.tiles.width == grid.width


def test_the_extent_of_a_picture_needs_no_decoding_either(tmp_path):
    with picture_project(tmp_path / "meadow") as project:
        bag = project.bags.get(1)
        wanted = images._of_picture(project.media.path(1)).extent
        assert images.placement(project, bag).extent == wanted and images.placement(project, bag).tiling() is None


def test_tiles_are_pictures_side_by_side_and_only_those_there_are(get):
    bag = get("bag/1").json()
    version, top = bag["image"], bag["tiles"]["top"]

    def tile(level, number):
        return get(f"image/1?v={version}&level={level}&tile={number}")

    whole = Image.open(io.BytesIO(tile(top, 0).content))
    below = [Image.open(io.BytesIO(tile(top - 1, number).content)) for number in (0, 1)]
    assert below[0].width == bag["tiles"]["columns"] >= whole.width
    assert sum(one.width for one in below) == pytest.approx(2 * whole.width, abs=1)
    assert get(f"image/1?v={version}").content == tile(top, 0).content, "without a tile: the whole bag"
    assert "immutable" in tile(0, 0).headers["cache-control"]
    for query in ("level=0&tile=999999", f"level={top + 1}&tile=0", f"level={top}&tile=1", "level=0.5&tile=0"):
        assert get(f"image/1?v={version}&{query}").status_code == 404, query
    for query in ("level=-1&tile=0", "level=0&tile=-1", "level=x&tile=0", "level=0&tile=nan", "level=1e9&tile=0"):
        assert get(f"image/1?v={version}&{query}").status_code == 400, query


def test_a_long_bag_sends_the_segments_of_a_range(get, project):
    everything = {one.id: one for one in project.segments.list(1, outlines=False)}
    opened = get("bag/1").json()
    assert opened["counts"]["segments"] == SEGMENTS == sum(opened["counts"]["density"])
    assert {one["id"] for one in opened["segments"]} == {i for i, s in everything.items() if s.left <= OPENING_SECONDS}
    middle = get("bag/1?from=300&to=310&also=1,2").json()
    touching = {i for i, s in everything.items() if s.left <= 310 and s.right >= 300}
    assert {one["id"] for one in middle["segments"]} == touching | {1, 2}
    assert middle["range"] == {"from": 300.0, "to": 310.0, "total": len(touching), "detail": "outlines"}
    assert len(middle["segments"][0]["rings"][0]) > 8 and middle["segments"][0]["guesses"]
    last = max(everything.values(), key=lambda one: one.left)
    jumped = get(f"bag/1?segment={last.id}&span=5").json()
    assert last.id in {one["id"] for one in jumped["segments"]}
    assert jumped["range"]["to"] - jumped["range"]["from"] == pytest.approx(10)
    assert get("bag/2").json()["range"] is None, "a short bag comes whole"


def test_segments_too_many_to_draw_come_as_boxes_or_as_a_number(get, project, monkeypatch):
    boxes = get("bag/1?from=0&to=600").json()
    assert boxes["range"]["detail"] == "boxes" and len(boxes["segments"]) == SEGMENTS
    assert {len(one["rings"][0]) for one in boxes["segments"]} == {8}
    assert len(json.dumps(boxes["segments"])) < 1_000_000
    monkeypatch.setattr("miml_core.project.queries.segment_ranges.MOST_BOXES", 800)
    many = get("bag/1?from=0&to=600&also=7").json()
    assert many["range"] == {"from": 0.0, "to": 600.0, "total": SEGMENTS, "detail": "none"}
    assert [one["id"] for one in many["segments"]] == [7]


def test_ranges_are_checked_and_have_their_own_etag(get):
    bad = ("from=x&to=1", "from=5&to=4", "from=0", "from=nan&to=1", "also=1;2", "also=-1", "span=-1&segment=1")
    for query in (*bad, "also=" + "1," * 101):
        assert get(f"bag/1?{query}").status_code == 400, query
    response = get("bag/1?from=0&to=10")
    assert get("bag/1?from=0&to=10", **{"If-None-Match": response.headers["etag"]}).status_code == 304
    assert get("bag/1?from=0&to=20", **{"If-None-Match": response.headers["etag"]}).status_code == 200


def test_the_next_segment_is_found_from_one_from_a_time_and_among_the_unchecked(get, project):
    order = [one.id for one in sorted(project.segments.list(1, outlines=False), key=lambda s: (s.left, -s.high, s.id))]

    def following(query: str) -> int | None:
        return get(f"bag/1/next?{query}").json()["segment"]

    assert following(f"after={order[5]}&step=1") == order[6] and following(f"after={order[5]}&step=-1") == order[4]
    assert following(f"after={order[-1]}&step=1") == order[0] and following(f"after={order[-1]}&step=1&wrap=0") is None
    at = project.segments.get(order[400]).left - 0.001
    assert following(f"at={at}&step=1") == order[400] and following(f"at={at}&step=-1") == order[399]
    project.edits.set_label([order[10], order[11]], 1)
    assert following(f"after={order[9]}&step=1&unchecked=1") == order[12]
    counts = get("bag/1").json()["counts"]
    assert counts["checked"] == 2 and counts["labels"]["1"] >= 2
    project.edits.undo()


def test_counts_by_label_are_those_of_the_segments(get, project):
    counted: dict[str, int] = {}
    for one in project.segments.list(1, outlines=False):
        assert one.prediction is not None
        label, sure = (one.label, 1.0) if one.label is not None else (one.prediction.top, one.prediction.probability)
        if sure >= 0.5:
            counted[str(label)] = counted.get(str(label), 0) + 1
    counts = get("bag/1").json()["counts"]
    assert counts["labels"] == counted and counts["unsure"] == SEGMENTS - sum(counted.values())


def test_drawing_in_a_long_bag_reads_no_sound(project, monkeypatch):
    def decode(*_, **__):
        raise AssertionError("sound was read")

    monkeypatch.setattr("miml_core.media.audio._read_frames", decode)
    from sqlalchemy import text

    with project.store.write() as connection:
        kept = connection.execute(text("SELECT grid_id FROM bags WHERE id = 1")).scalar()
        connection.execute(text("UPDATE bags SET grid_id = NULL WHERE id = 1"))
    drawn = project.edits.draw(1, [[(500.0, 1000.0), (501.0, 1000.0), (501.0, 2000.0), (500.0, 2000.0)]])
    assert project.segments.get(drawn.created[0]).left == pytest.approx(500.0, abs=0.02)
    with project.store.read() as connection:
        assert connection.execute(text("SELECT grid_id FROM bags WHERE id = 1")).scalar() == kept
    project.edits.undo()


def test_a_cached_file_that_is_no_picture_is_made_again(project):
    """A foreign project can bring a cache: what lies in it is only shown if it is a picture."""
    bag = project.bags.get(1)
    images._memory.clear()
    shutil.rmtree(project.folder / "cache" / "images", ignore_errors=True)
    images.bag_image(project, bag)
    images._memory.clear()
    (kept,) = (project.folder / "cache" / "images").iterdir()
    kept.write_bytes(b'{"media_type": "text/html", "extent": {}, "rate": 1}\n<script>alert(1)</script>')
    again = images.bag_image(project, bag)
    assert again.media_type == "image/png" and again.content.startswith(b"\x89PNG")


def test_the_frequencies_shown_are_stored_for_all_bags_and_change_nothing_else(get, client, project):
    root = f"/bagtag/{open_projects.key_of(project.folder)}"
    before, keys = get("bag/2").json(), (project.settings.segment_key, project.settings.feature_key)

    def send(body: object) -> int:
        return client.post(f"{root}/view-band", json=body, headers=KEY).status_code

    assert before["view"]["band"] is None
    assert send({"low": 500, "high": None}) == 200 and project.view_band == (500.0, None)
    assert send({"low": None, "high": 3000.5}) == 200 and get("bag/1").json()["view"]["band"] == [0.0, 3000.5]
    after = get("bag/2").json()
    assert after["view"]["band"] == [0.0, 3000.5] and after["revision"] > before["revision"]
    assert (after["image"], after["extent"]) == (before["image"], before["extent"])
    assert keys == (project.settings.segment_key, project.settings.feature_key)
    for wrong in ([], {}, {"low": 1}, {"low": "1", "high": 2}, {"low": -1, "high": 2}, {"low": True, "high": 9}, None):
        assert send(wrong) == 400, wrong
    assert send({"low": 2000, "high": 1000}) == 422 and project.view_band == (0.0, 3000.5)
    assert send({"low": None, "high": None}) == 200 and project.view_band is None


def test_colours_and_decibels_of_the_view_need_no_new_tiles(get, project):
    before = get("bag/2").json()
    settings = project.settings
    project.set_settings(replace(settings, spectrogram=replace(settings.spectrogram, loud_db=50.0, colour_map="grey")))
    after = get("bag/2").json()
    assert after["image"] == before["image"] and after["view"]["loud"] == 50.0
    assert after["view"]["colours"] == "".join(3 * f"{level:02x}" for level in range(256))
    project.set_settings(replace(settings, spectrogram=replace(settings.spectrogram, flat=False)))
    assert get("bag/2").json()["image"] != before["image"]
    project.set_settings(settings)
