"""The species that BirdNET recognises, and the search for them by the names people give to classes.

BirdNET follows one list of names, projects follow others: class names differ in spelling, carry the kind of sound
("Parus major_song"), use a genus from before a split ("Parus caeruleus"), or are codes of six letters ("Parmaj").
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from miml_core.features.birdnet.files import labels_file

_NO_ANIMAL = re.compile("Human .*|Engine|Environmental|Fireworks|Gun|Noise|Power tools|Siren")

_OTHER_ANIMALS = re.compile(
    "Acris|Allonemobius|Alouatta|Amblycorypha|Anaxipha|Anaxyrus|Apis|Atlanticus|Canis|"
    "Conocephalus|Cyrtoxipha|Dog|Dryophytes|Eleutherodactylus|Eunemobius|Gastrophryne|Gryllus|"
    "Hyliola|Incilius|Lithobates|Microcentrum|Miogryllus|Neoconocephalus|Neonemobius|Odocoileus|"
    "Oecanthus|Orchelimum|Orocharis|Phyllopalpus|Pseudacris|Pterophylla|Scaphiopus|Sciurus|"
    "Scudderia|Spea|Tamias|Tamiasciurus"
)
"""Genera of the frogs, insects and mammals that BirdNET 2.4 recognises."""

_SOUND_WORD = re.compile(
    "songs?|singing|calls?|calling|alarm|contact|flight|begging|drums?|drumming|display|adult|juvenile|male|female"
    "|chicks?|nestlings?|[0-9]+"
)

_BRACKETS = re.compile(r"[(\[{]([^)\]}]*)[)\]}]?")

_WHERE_COMMON = frozenset(("common", "eurasian", "european"))
"""Lists of names disagree on these first words, and people leave them out."""

_SPELLINGS = (("grey", "gray"), ("colour", "color"))

# Where the species of a genus went when it was split: only those with the same second word are found.
_SPLIT_GENERA = {
    "Anas": "Spatula Mareca Sibirionetta",
    "Apus": "Tachymarptis",
    "Aquila": "Hieraaetus Clanga",
    "Bonasa": "Tetrastes",
    "Carduelis": "Chloris Linaria Acanthis Spinus",
    "Carpodacus": "Haemorhous",
    "Columba": "Patagioenas",
    "Corvus": "Coloeus",
    "Dendrocopos": "Dendrocoptes Leiopicus Dryobates Picoides Leuconotopicus",
    "Dendroica": "Setophaga",
    "Hippolais": "Iduna",
    "Hirundo": "Ptyonoprogne Cecropis Petrochelidon",
    "Larus": "Chroicocephalus Ichthyaetus Leucophaeus Hydrocoloeus Rissa",
    "Luscinia": "Cyanecula Calliope Larvivora",
    "Miliaria": "Emberiza",
    "Nyctea": "Bubo",
    "Parus": "Cyanistes Periparus Poecile Lophophanes Baeolophus Machlolophus Sittiparus Melaniparus",
    "Philomachus": "Calidris",
    "Picoides": "Dryobates Leuconotopicus",
    "Porzana": "Zapornia",
    "Sterna": "Thalasseus Sternula Onychoprion Hydroprogne Gelochelidon",
    "Streptopelia": "Spilopelia",
    "Sylvia": "Curruca",
    "Tetrao": "Lyrurus",
    "Vermivora": "Leiothlypis Oreothlypis",
    "Wilsonia": "Cardellina Setophaga",
    "Zoothera": "Geokichla Ixoreus",
}


@dataclass(frozen=True)
class Species:
    """A species, or another source of sound, that BirdNET recognises.

    Attributes
    ----------
    scientific, common : str
        Names as BirdNET writes them; the common one is English. For sounds that are no animals they are the same.
    index : int
        Column of the logits.
    """

    scientific: str
    common: str
    index: int

    @property
    def is_animal(self) -> bool:
        """Whether it is an animal, not noise, an engine or people."""
        return _NO_ANIMAL.fullmatch(self.scientific) is None

    @property
    def is_bird(self) -> bool:
        """Whether it is a bird; BirdNET predicts where and when a species occurs for birds only."""
        return self.is_animal and _OTHER_ANIMALS.fullmatch(self.scientific.split()[0]) is None


@cache
def species_list() -> tuple[Species, ...]:
    """Return all 6522 species, in the order of the logits.

    Raises
    ------
    BagtagError
        BirdNET is not installed, or damaged.

    Examples
    --------
    >>> from miml_core.features.birdnet.files import birdnet_status
    >>> if birdnet_status().installed:
    ...     assert len(species_list()) == 6522 and species_list()[0].scientific == "Abroscopus albogularis"
    """
    lines = labels_file().read_text(encoding="utf-8").splitlines()
    names = [line.split("_", 1) for line in lines]
    return tuple(Species(scientific, common, index) for index, (scientific, common) in enumerate(names))


def find_species(name: str, scientific_name: str = "") -> Species | None:
    """Return the species that a class means, or None.

    The scientific name is tried first. Upper and lower case, accents, hyphens, apostrophes, underscores and spaces do
    not matter, nor do "grey" and "gray". Without a match, what follows a scientific name or describes the sound
    ("_song", "(flight call)") is left out; then endings of the second word are ignored (Regulus ignicapillus), and
    genera that were split are followed (Sylvia undata is Curruca undata). "Common", "Eurasian" and "European" may be
    left out or exchanged. Six letters are taken as the beginnings of genus and species (Parmaj_call). A form that fits
    several species finds none.

    Parameters
    ----------
    name : str
        Name of a class: scientific, English, a code, or "scientific_English" as BirdNET writes it.
    scientific_name : str
        Scientific name of the class, if the project has it.

    Raises
    ------
    BagtagError
        BirdNET is not installed, or damaged.

    Examples
    --------
    >>> from miml_core.features.birdnet.files import birdnet_status
    >>> if birdnet_status().installed:
    ...     for name in ("great tit", "PARUS MAJOR (call)", "Parus major_Great Tit", "Parmaj_song", "Great-Tit, male"):
    ...         assert find_species(name).scientific == "Parus major"
    ...     assert find_species("Parus caeruleus").common == "Eurasian Blue Tit"
    ...     assert find_species("Empty") is None
    """
    return _first(_find, (text for text in (scientific_name, name) if text.strip()))


def _find(text: str) -> Species | None:
    index = _index()
    for part in (text, *_parts(text)):
        words = _words(part)
        found = index.by_name.get("".join(words)) or index.by_name.get("".join(_without_sound(words)))
        if found is not None:
            return found
    for part in _parts(text):
        words = _without_sound(_words(part))
        short = _short_name(words)
        found = (
            _binomial(words) or index.by_short_name.get(short) or index.by_name.get(short) or index.by_code.get(short)
        )
        if found is not None:
            return found
    return None


def _parts(text: str) -> list[str]:
    """Return what may be a name in a text: without brackets, each side of an underscore, and what is in brackets."""
    plain = re.sub(_BRACKETS, " ", text)
    return [plain, *plain.split("_"), *re.findall(_BRACKETS, text)]


def _words(text: str) -> list[str]:
    """Return the words of a name in the form that is compared."""
    plain = "".join(mark for mark in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(mark))
    for one, other in _SPELLINGS:
        plain = plain.replace(one, other)
    return re.findall(r"[^\W_]+", re.sub(r"['’‘`´ʼ]", "", plain))


def _without_sound(words: list[str]) -> list[str]:
    last = len(words)
    while last > 1 and _SOUND_WORD.fullmatch(words[last - 1]):
        last -= 1
    return words[:last]


def _binomial(words: list[str]) -> Species | None:
    """Return the species of a genus and a second word, which may have another ending or a newer genus."""
    if len(words) < 2:
        return None
    genus, stem = words[0], _stem(words[1])
    genera = [genus, *_SPLIT_GENERA.get(genus.capitalize(), "").lower().split()]
    return _first(lambda one: _index().by_stem.get((one, stem)), genera)


def _short_name(words: list[str]) -> str:
    """Return an English name without a first word such as "Common"."""
    return "".join(words[1:] if len(words) > 1 and words[0] in _WHERE_COMMON else words)


def _stem(word: str) -> str:
    """Return the second word of a scientific name without an ending that follows the gender of the genus."""
    return re.sub(r"(us|um|is|er|ra|rum|a|e)$", "", word) if len(word) > 4 else word


@dataclass(frozen=True)
class _Index:
    by_name: dict[str, Species]
    by_short_name: dict[str, Species]
    by_stem: dict[tuple[str, str], Species]
    by_code: dict[str, Species]


@cache
def _index() -> _Index:
    by_name: dict[str, Species] = {}
    by_short_name: dict[str, list[Species]] = defaultdict(list)
    by_stem: dict[tuple[str, str], list[Species]] = defaultdict(list)
    by_code: dict[str, list[Species]] = defaultdict(list)
    former = {new.lower(): old.lower() for old, genera in _SPLIT_GENERA.items() for new in genera.split()}
    for one in species_list():
        for name in (one.scientific, one.common, f"{one.scientific} {one.common}"):
            by_name.setdefault("".join(_words(name)), one)
        common = _words(one.common)
        if common[0] in _WHERE_COMMON:
            by_short_name[_short_name(common)].append(one)
        elif "'s " in one.common:
            by_short_name["".join(_words(one.common.replace("'s ", " ")))].append(one)
        words = _words(one.scientific)
        if len(words) == 2:
            genus, second = words
            by_stem[genus, _stem(second)].append(one)
            for known in {genus[:3], former.get(genus, genus)[:3]}:
                by_code[known + second[:3]].append(one)
    return _Index(by_name, _unique(by_short_name), _unique(by_stem), _unique(by_code))


_Key = TypeVar("_Key")


def _unique(found: dict[_Key, list[Species]]) -> dict[_Key, Species]:
    return {key: among[0] for key, among in found.items() if len(among) == 1}


def _first(find: Callable[[str], Species | None], among: Iterable[str]) -> Species | None:
    return next((found for one in among if (found := find(one)) is not None), None)
