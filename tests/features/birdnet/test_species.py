"""Class names find BirdNET's species, and never a wrong one."""

import pytest

from miml_core.features.birdnet import find_species, species_list
from tests.birdnet import needs_birdnet

pytestmark = needs_birdnet


def test_every_species_is_found_by_its_own_names():
    for one in species_list():
        for name in (one.scientific, one.common, f"{one.scientific}_{one.common}", one.common.upper()):
            assert find_species(name) == one


@pytest.mark.parametrize(
    "name, scientific",
    [
        ("  great   TIT ", "Parus major"),
        ("Parus_major", "Parus major"),
        ("Parus major_Great Tit", "Parus major"),
        ("Parus major_Kohlmeise", "Parus major"),
        ("Kohlmeise (Parus major)", "Parus major"),
        ("Parus major (call)", "Parus major"),
        ("Great Tit - song", "Parus major"),
        ("Great Tit flight call 2", "Parus major"),
        ("Parus major excelsus", "Parus major"),
        ("Parmaj_song", "Parus major"),
        ("parmaj", "Parus major"),
        ("Cettis warbler", "Cettia cetti"),
        ("Cetti’s Warbler", "Cettia cetti"),
        ("Ruppell's Weaver", "Ploceus galbula"),
        ("RÜPPELL'S WEAVER", "Ploceus galbula"),
        ("Common Wood Pigeon", "Columba palumbus"),
        ("Grey Wagtail", "Motacilla cinerea"),
        ("Common Blackbird", "Turdus merula"),
        ("Blue Tit", "Cyanistes caeruleus"),
        ("European Crested Tit", "Lophophanes cristatus"),
        ("Thekla Lark", "Galerida theklae"),
        ("Regulus ignicapillus", "Regulus ignicapilla"),
        ("Sylvia undata", "Curruca undata"),
        ("Parcae_call", "Cyanistes caeruleus"),
        ("Carduelis chloris", "Chloris chloris"),
        ("human vocal", "Human vocal"),
    ],
)
def test_names_as_people_write_them(name, scientific):
    found = find_species(name)
    assert found is not None and found.scientific == scientific


@pytest.mark.parametrize(
    "name",
    [
        "",
        "  ",
        "_",
        "()",
        "Empty",
        "unknown",
        "insect",
        "song",
        "Cicada orni",
        "Carcar_call",
        "Corcor",
        "bird 1",
        "Parus",
    ],
)
def test_other_names_find_nothing(name):
    assert find_species(name) is None


def test_the_scientific_name_counts_more():
    wren = find_species("Winter Wren", "Troglodytes troglodytes")
    assert wren is not None and wren.common == "Eurasian Wren"
    other = find_species("Winter Wren", "")
    assert other is not None and other.scientific == "Troglodytes hiemalis"


def test_sounds_that_are_no_animals_are_marked():
    others = [one.scientific for one in species_list() if not one.is_animal]
    assert len(others) == 10 and {"Noise", "Human vocal", "Power tools"} < set(others) and "Dog" not in others
