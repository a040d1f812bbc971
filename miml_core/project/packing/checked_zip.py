"""Read a packed project that may come from somebody else.

Everything that its headers say is checked before anything is unpacked: names, kinds of members, sizes, overlaps. While
a member is unpacked, no more than its stated size is written, and its SHA-256 must be that of the manifest.
"""

from __future__ import annotations

import hashlib
import os
import stat
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from miml_core.errors import BagtagError
from miml_core.exchange.names import normalised_name
from miml_core.media.regular_files import check_regular_file
from miml_core.project.db.database_file import DATABASE
from miml_core.project.media.files import media_suffixes
from miml_core.project.packing.manifest import (
    MANIFEST,
    MEDIA,
    MOST_BYTES,
    Manifest,
    Member,
    is_member_name,
)

CHUNK = 1 << 20
_FREE_BYTES = 100 * 2**20
_MOST_RATIO = 200
"""A database above `_FREE_BYTES` compresses by less than this; deflate itself allows 1032."""
_LOCAL_HEADER = 30
_ENCRYPTED = 0x1
_UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, RuntimeError, OverflowError)
"""What `zipfile` raises for damaged files."""


class PackedProject:
    """An open packed project whose headers were found to be in order; use it in a `with` block.

    Raises
    ------
    BagtagError
        It is no packed project, it is damaged, or something in it cannot have been written by `pack`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        size = check_regular_file(path).st_size
        try:
            self._zip = zipfile.ZipFile(path)
        except OSError as error:
            raise BagtagError(
                f"{str(path)!r} cannot be read: {error.strerror or error}. Check the path and its permissions."
            ) from error
        except _UNREADABLE as error:
            raise self.refusal("it is damaged, or not a zip file") from error
        try:
            self._infos, self.manifest = self._check(size)
        except BaseException:
            self._zip.close()
            raise

    def __enter__(self) -> PackedProject:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._zip.close()

    @property
    def size(self) -> int:
        """Bytes of all members when they are unpacked."""
        return sum(member.size for member in self.manifest.members)

    def members(self, *, media: bool = True) -> list[Member]:
        """Return the members, or only those that are no media."""
        return [each for each in self.manifest.members if media or not each.name.startswith(f"{MEDIA}/")]

    def extract(self, member: Member, target: Path, report: Callable[[int], None]) -> None:
        """Write a member to a new file; `report` is called with the number of bytes of each part."""
        digest, left = hashlib.sha256(), member.size
        try:
            with self._zip.open(self._infos[member.name]) as source, target.open("xb") as file:
                while chunk := source.read(min(CHUNK, left + 1)):
                    left -= len(chunk)
                    if left < 0:
                        raise self.refusal(f"{member.name!r} is larger than it states")
                    digest.update(chunk)
                    file.write(chunk)
                    report(len(chunk))
                file.flush()
                os.fsync(file.fileno())
        except BagtagError:
            raise
        except _UNREADABLE as error:
            raise self.refusal(f"{member.name!r} is damaged") from error
        if left or digest.hexdigest() != member.sha256:
            raise self.refusal(f"the checksum of {member.name!r} is wrong")

    def refusal(self, reason: str) -> BagtagError:
        """Return the error that this file is not used."""
        return BagtagError(
            f"{self.path.name!r} is not a project packed by Bagtag, or was changed since: {reason}. Nothing was "
            "unpacked; pack the project again, and copy the file again."
        )

    def _check(self, size: int) -> tuple[dict[str, zipfile.ZipInfo], Manifest]:
        found = self._zip.infolist()
        infos = {info.filename: info for info in found}
        if len(infos) != len(found):
            raise self.refusal("two of its files have the same name")
        if len({normalised_name(name) for name in infos}) != len(infos):
            raise self.refusal("names of its files differ only by letter case")
        for info in found:
            self._check_header(info)
        self._check_places(found, size)
        manifest = self._read_manifest(infos)
        if manifest.kind not in ("sound", "picture"):
            raise self.refusal("its kind is neither sound nor picture")
        names = [member.name for member in manifest.members]
        suffixes = media_suffixes(manifest.kind)
        for name in names:
            if not is_member_name(name, suffixes):
                raise self.refusal(f"{name[:80]!r} is not a file of a project")
        if len(set(names)) != len(names) or {*names, MANIFEST} != set(infos) or DATABASE not in names:
            raise self.refusal("its files are not those of its manifest")
        self._check_folders(names)
        for member in manifest.members:
            info = infos[member.name]
            if info.file_size != member.size:
                raise self.refusal(f"the size of {member.name!r} is not that of its manifest")
            if member.name.startswith(f"{MEDIA}/") and info.compress_type != zipfile.ZIP_STORED:
                raise self.refusal(f"{member.name!r} is compressed")
        return infos, manifest

    def _check_header(self, info: zipfile.ZipInfo) -> None:
        name, mode = info.filename, info.external_attr >> 16
        if info.orig_filename != name or info.is_dir():
            raise self.refusal(f"{name[:80]!r} is not a file of a project")
        if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
            raise self.refusal(f"{name[:80]!r} is a link or a device")
        if info.flag_bits & _ENCRYPTED or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise self.refusal(f"{name[:80]!r} is encrypted, or compressed by another method")
        if info.compress_type == zipfile.ZIP_STORED and info.compress_size != info.file_size:
            raise self.refusal(f"the size of {name[:80]!r} is wrong")
        if info.file_size > max(_FREE_BYTES, _MOST_RATIO * info.compress_size):
            raise self.refusal(f"{name[:80]!r} would become {info.file_size:,} bytes")

    def _check_places(self, found: list[zipfile.ZipInfo], size: int) -> None:
        """Refuse members that share bytes: a small file could then state any number of large ones."""
        end = 0
        for info in sorted(found, key=lambda info: info.header_offset):
            if info.header_offset < end:
                raise self.refusal("its files overlap")
            end = info.header_offset + _LOCAL_HEADER + len(info.filename) + info.compress_size
        if end > size:
            raise self.refusal("it is not complete")

    def _check_folders(self, names: list[str]) -> None:
        """Refuse a name that is a file and a folder, and folders that differ only by letter case."""
        files = {normalised_name(name) for name in names}
        folders: dict[str, str] = {}
        for name in names:
            parts = name.split("/")
            for depth in range(1, len(parts)):
                folder = "/".join(parts[:depth])
                if normalised_name(folder) in files or folders.setdefault(normalised_name(folder), folder) != folder:
                    raise self.refusal("names of its files differ only by letter case")

    def _read_manifest(self, infos: dict[str, zipfile.ZipInfo]) -> Manifest:
        info = infos.get(MANIFEST)
        if info is None or info.file_size > MOST_BYTES:
            raise self.refusal("it has no manifest")
        try:
            with self._zip.open(info) as source:
                return Manifest.from_json(source.read(MOST_BYTES))
        except BagtagError:
            raise
        except ValueError as error:
            raise self.refusal(str(error) if str(error).startswith("its ") else "its manifest is damaged") from error
        except _UNREADABLE as error:
            raise self.refusal("its manifest is damaged") from error
