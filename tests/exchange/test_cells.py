"""Cells go through a table unchanged and are no formulas on the way."""

import pytest
from hypothesis import given

from miml_core.errors import BagtagError
from miml_core.exchange.cells import from_one_line, neutralise, number_text, on_one_line, parse_number, restore
from miml_core.exchange.names import name_beside, name_from_beside
from tests.exchange.examples import NASTY_NAMES, texts


@given(texts)
def test_neutralised_text_comes_back(text):
    assert restore(neutralise(text)) == text
    assert from_one_line(on_one_line(text)) == text


@given(texts)
def test_a_cell_on_one_line_has_neither_tabs_nor_line_ends(text):
    assert not set(on_one_line(text)) & set("\t\r\n")


@pytest.mark.parametrize(
    "formula", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "\r=1", "\n=1", "''=1", "|x", "＝1"]
)
def test_formulas_are_neutralised(formula):
    assert neutralise(formula) == "'" + formula


@pytest.mark.parametrize("text", ["'Apapane", "Wren", "a=b", "3-toed woodpecker", ""])
def test_plain_texts_are_left_alone(text):
    assert neutralise(text) == text
    assert restore(text) == text


@given(texts)
def test_numbers_and_signs_never_start_a_neutralised_cell(text):
    assert neutralise(text).lstrip(" ")[:1] not in tuple("=+-@\t\r\n")


@pytest.mark.parametrize("file", NASTY_NAMES)
def test_names_beside_are_safe_and_come_back(file):
    name = name_beside(file, ".txt")
    assert name_from_beside(name, ".txt") == file
    assert not set(name) & set('\t\r\n":|<>?*\\')
    assert not name.startswith(("/", "."))
    assert ".." not in name.split("/")


@given(texts.filter(bool))
def test_any_name_beside_comes_back(file):
    assert name_from_beside(name_beside(file, ".selections.txt"), ".selections.txt") == file


def test_numbers():
    assert number_text(1.50, 6) == "1.5"
    assert number_text(100.0, 0) == "100"
    assert number_text(None, 3) == ""
    assert parse_number("0,5", "here") == 0.5
    assert parse_number(" ", "here") is None
    for bad in ("one", "nan", "inf", "1.2.3"):
        with pytest.raises(BagtagError, match="line 3"):
            parse_number(bad, "line 3")
