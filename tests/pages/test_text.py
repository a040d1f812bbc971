"""How names and numbers are written."""

import pytest

from pages.widgets.text import count, length_of_time, plain, shorten, time_left


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("Wren", "Wren"),
        ("Zilpzalp (Weidenlaubsänger)", r"Zilpzalp \(Weidenlaubsänger\)"),
        ("**bold** [link](x)", r"\*\*bold\*\* \[link\]\(x\)"),
        ("<script>", r"\<script\>"),
        (r"C:\new", r"C\:\\new"),
        ("$x$", r"\$x\$"),
        ("two\n# lines", r"two \# lines"),
    ],
)
def test_text_of_people_is_escaped(text, markdown):
    assert plain(text) == markdown


def test_emoji_names_and_arrows_stay_text():
    assert plain(":smile:").replace("\\", "") == ":\u2060smile:"
    assert "\u2060" in plain("a -> b")
    assert "\u2060" not in plain("12:30")


def test_right_to_left_names_do_not_turn_the_sentence_around():
    assert plain("صعو") == "\u2068صعو\u2069"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.84, "0.8 s"), (9.96, "10 s"), (59.4, "59 s"), (200, "3 min 20 s"), (7500, "2 h 05 min")]
)
def test_durations(seconds, text):
    assert length_of_time(seconds) == text


def test_estimates_are_rounded():
    assert time_left(None) == ""
    assert time_left(2) == "a few seconds left"
    assert time_left(47) == "about 45 s left"
    assert time_left(200) == "about 3 min left"
    assert time_left(9000) == "about 2.5 h left"


def test_counts():
    assert [count(n, "bag") for n in (0, 1, 2, 12000)] == ["no bags", "1 bag", "2 bags", "12\u202f000 bags"]


def test_a_short_name_keeps_the_word_by_which_it_differs():
    assert shorten("Mediterranean Warbler call", 16) == "Mediterran… call"
    assert shorten("Mediterranean Warbler", 16) == "Mediterranean W…"
    assert shorten("Grey Wagtail", 16) == "Grey Wagtail"
    assert shorten("Great Spotted Woodpecker song", 20) == "Great Spotted… song"
