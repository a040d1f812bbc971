"""Rows for the tests: plain ones, and ones with every kind of trouble in their texts."""

from dataclasses import replace

from hypothesis import strategies as st

from miml_core.exchange import SegmentRow

NASTY_NAMES = [
    "plain.wav",
    "site A/sub/20250401_050000.WAV",
    "quote \" and ' apostrophe.wav",
    "tab\tand\nnewline\r.wav",
    "=cmd|' /C calc'!A0.wav",
    "@risk, semi; colon: pipe|.wav",
    "emoji 🐦 wren é ＝１.wav",
    "%0A percent %25.wav",
    "../../outside.wav",
    "/absolute/path.wav",
    "C:\\Windows\\path.wav",
    "con.wav",
    ".hidden",
    " =1+1 .wav",
    "'apostrophe first",
    "-",
    "trailing dot.",
    "עפרוני من اليمين \u202etxt.wav",
    "line\u2028separator\x85\x0bfeed\x1c.wav",
    "\ufeffmark first.wav",
]

SOUND = SegmentRow(
    file="site A/20250401_050000.wav",
    bag="20250401_050000, 10 s to 20 s",
    segment=12,
    start_s=12.345678,
    end_s=13.5,
    low_hz=1722.656,
    high_hz=5000.0,
    label="Copper trill",
    scientific_name="Aeramen sonans",
    probability=0.912345,
    said_by="model",
    who="ored-lr",
    status="predicted",
    run="run 3",
    recorded_at="2025-04-01T05:00:00",
    duration_s=60.0,
    rate=22050,
    channels=1,
)
SOUNDS = [
    SOUND,
    replace(
        SOUND, segment=13, start_s=14.0, end_s=15.0, probability=None, said_by="person", who="Ana", status="confirmed"
    ),
    replace(SOUND, segment=14, start_s=16.0, end_s=16.5, label="", scientific_name="", status="background"),
    replace(
        SOUND,
        segment=15,
        start_s=17.0,
        end_s=17.5,
        label="",
        scientific_name="",
        probability=None,
        said_by="",
        who="",
        run="",
        status="unlabelled",
    ),
    replace(SOUND, file="b.wav", bag="b", segment=16, start_s=0.0, end_s=0.25, low_hz=None, high_hz=None),
]

SQUARE = ((1.0, 1.0), (7.0, 1.0), (7.0, 5.0), (1.0, 5.0))
HOLE = ((3.0, 2.0), (3.0, 4.0), (5.0, 4.0), (5.0, 2.0))
PICTURE = SegmentRow(
    file="pond.jpg",
    kind="picture",
    bag="pond.jpg",
    segment=1,
    box=(1.0, 1.0, 7.0, 5.0),
    outline=(SQUARE,),
    width=12,
    height=9,
    label="water",
    probability=0.75,
    said_by="model",
    who="ored-lr",
    status="predicted",
    run="run 1",
    recorded_at="2025-04-01T05:00:00",
)
TRIANGLE = ((8.25, 0.5), (11.75, 0.5), (8.25, 8.125))
PICTURES = [
    PICTURE,
    replace(
        PICTURE,
        segment=2,
        box=(8.25, 0.5, 11.75, 8.125),
        outline=(TRIANGLE,),
        label="grass",
        said_by="person",
        who="Ana",
        status="confirmed",
        probability=None,
    ),
    replace(PICTURE, file="sub/other.png", segment=3, outline=(SQUARE, HOLE), label="", status="background"),
    replace(
        PICTURE,
        file="sub/other.png",
        segment=4,
        box=(9.0, 6.0, 11.0, 8.0),
        outline=(((9.0, 6.0), (11.0, 6.0), (11.0, 8.0), (9.0, 8.0)),),
        label="",
        said_by="",
        who="",
        run="",
        probability=None,
        status="unlabelled",
    ),
]

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12) | st.sampled_from(
    NASTY_NAMES
)
