"""Tables of tags and lists of species, as people keep them."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from miml_core.errors import BagtagError
from miml_core.exchange.species_csv import SpeciesRow, read_species, write_species
from miml_core.exchange.tags_csv import TagRow, read_tags, write_tags
from tests.exchange.examples import NASTY_NAMES, texts

FIXTURES = Path(__file__).parent / "fixtures"


def given_file(folder, text):
    path = folder / "given.csv"
    path.write_text(text)
    return path


def test_listed_tags_with_semicolons_between_columns():
    assert read_tags(FIXTURES / "tags_listed.csv") == [
        TagRow("site A/é.wav", 0.5, None, ("Wren", "Robin"), finished=True),
        TagRow("b.wav", finished=True),
        TagRow("c.wav"),
    ]


def test_one_column_a_class():
    assert read_tags(FIXTURES / "tags_columns.csv") == [
        TagRow("a.wav", present=("Wren",), absent=("Robin", "Song thrush"), finished=True),
        TagRow("b.wav", present=("Song thrush",), absent=("Wren",)),
    ]


names = st.lists(
    texts.map(str.strip).filter(lambda text: text and len(text.splitlines()) == 1), max_size=4, unique=True
)


@given(
    st.lists(st.tuples(texts.filter(str.strip), names, st.booleans(), st.none() | st.integers(0, 10**6)), max_size=5)
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_tags_come_back(tmp_path, lines):
    rows = [
        TagRow(file, start, None if start is None else start + 10.0, tuple(tags[:2]), tuple(tags[2:]), finished)
        for file, tags, finished, start in lines
    ]
    assert read_tags(write_tags(rows, tmp_path / "tags.csv")) == rows


@pytest.mark.parametrize("name", ["none", "-", "a;b", 'say "hi"', "=1"])
def test_odd_tags_come_back(name, tmp_path):
    rows = [TagRow(file, present=(name,), finished=True) for file in NASTY_NAMES]
    assert read_tags(write_tags(rows, tmp_path / "tags.csv")) == rows


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("name,tags\na,b\n", "no column 'file'"),
        ("file\na.wav\n", "neither a column 'tags'"),
        ("file,tags\n,Wren\n", "line 2 does not name a file"),
        ("file,start,tags\na.wav,soon,Wren\n", "line 2: 'soon' is not a number"),
        ("file,start,end,tags\na.wav,5,4,Wren\n", "line 2: the bag from 5.0 s to 4.0 s"),
        ("file,tags,absent\na.wav,Wren,Wren\n", "line 2: 'Wren' is both present and absent"),
        ("file,Wren\na.wav,1\nb.wav,maybe\n", "line 3, column 'Wren': 'maybe'"),
        ("file,Wren,Wren\na.wav,1,1\n", "two columns 'Wren'"),
        ("file,tags\na.wav,Wren,Robin\n", "line 2 has 3 cells"),
        ('file,tags\n"a.wav,Wren\n', "unexpected end of data"),
    ],
)
def test_bad_tags_are_reported_by_line(text, reported, tmp_path):
    with pytest.raises(BagtagError, match=f"given.csv.*{reported}"):
        read_tags(given_file(tmp_path, text))


def test_a_missing_table_is_reported(tmp_path):
    with pytest.raises(BagtagError, match="nowhere"):
        read_tags(tmp_path / "nowhere.csv")


def test_species():
    assert read_species(FIXTURES / "species.csv") == [
        SpeciesRow("Wren", "Troglodytes troglodytes", "#336699", "w"),
        SpeciesRow("Robin"),
    ]


def test_species_come_back(tmp_path):
    rows = [SpeciesRow("=Wren", "+x", "#aabbcc", "-", 'a "note", 🐦'), SpeciesRow("'Apapane")]
    assert read_species(write_species(rows, tmp_path / "species.csv")) == rows


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("colour\nred\n", "no column 'name'"),
        ("name,colour\nWren,red\n", "line 2: the colour 'red'"),
        ("name,key\nWren,ww\n", "line 2: the shortcut 'ww'"),
        ("name,key\nWren,w\nRobin,W\n", "line 3: the shortcut 'W' is used twice"),
        ("name\nWren\nWren\n", "line 3: 'Wren' is in the list twice"),
        ("name,key\n,w\n", "line 2 has no name"),
    ],
)
def test_bad_lists_are_reported_by_line(text, reported, tmp_path):
    with pytest.raises(BagtagError, match=f"given.csv.*{reported}"):
        read_species(given_file(tmp_path, text))


def test_many_lines_with_the_same_problem_are_one_sentence():
    from miml_core.exchange.problems import LineProblem, summarise

    unknown = [LineProblem(f"'t.csv', line {n}", "The file is not in the project", f"'{n}.wav'") for n in range(2, 262)]
    other = LineProblem("'t.csv', line 300", "No bag of the file starts at this time", "'a.wav' at 3 s")
    sentences = summarise([*unknown, other])
    assert sentences == [
        "260 lines: The file is not in the project: '2.wav' ('t.csv', line 2), '3.wav' ('t.csv', line 3), "
        "'4.wav' ('t.csv', line 4) and 257 more.",
        "'t.csv', line 300: No bag of the file starts at this time: 'a.wav' at 3 s.",
    ]
