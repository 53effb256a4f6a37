"""The file of an FMU: an untrusted zip. It is opened within limits, and unpacked to where nobody else can write.

The limits protect against a damaged or malicious archive, not against the model in it: an FMU is a program, and hilt runs it.
"""

import hashlib
import re
import stat
import zipfile
from pathlib import Path, PurePosixPath

from hilt.core.faults import InputError, shortened

MOST_FILES = 20_000
MOST_BYTES = 2 << 30  # unpacked
LARGEST_DESCRIPTION = 64 << 20
DESCRIPTION = "modelDescription.xml"
_CHUNK = 1 << 20


def refusal(path: Path, why: str, advice: str, key: str) -> InputError:
    return InputError(f"the FMU {shortened(str(path))} {why}; {advice}", key=key)


def digest(path: Path, key: str) -> str:
    """Return the SHA-256 of the file."""
    found = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while part := file.read(_CHUNK):
                found.update(part)
    except OSError as error:
        raise refusal(path, f"cannot be read: {error.strerror}", f"correct {key}.path", key) from None
    return found.hexdigest()


def description(path: Path, key: str) -> bytes:
    """Return the text of modelDescription.xml; nothing is unpacked."""
    with _opened(path, key) as archive:
        _check(archive, path, key)
        try:
            size = archive.getinfo(DESCRIPTION).file_size
        except KeyError:
            raise refusal(path, f"has no {DESCRIPTION}", "is it an FMU? export it again", key) from None
        if size > LARGEST_DESCRIPTION:
            raise refusal(path, f"has a {DESCRIPTION} of {size >> 20} MiB; at most 64 MiB are read", "export it again", key)
        return _content(archive, DESCRIPTION, LARGEST_DESCRIPTION, path, key)


def unpack(path: Path, folder: Path, key: str) -> None:
    """Unpack all files into our own folder."""
    left = MOST_BYTES
    with _opened(path, key) as archive:
        _check(archive, path, key)
        for entry in archive.infolist():
            if entry.is_dir():
                continue
            target = folder / entry.filename
            target.parent.mkdir(parents=True, exist_ok=True)
            content = _content(archive, entry.filename, left, path, key)
            left -= len(content)
            try:
                target.write_bytes(content)
            except OSError as error:
                raise refusal(
                    path, f"cannot be unpacked: {error.strerror}", "free some space for temporary files", key
                ) from None


def _opened(path: Path, key: str) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except OSError as error:
        raise refusal(path, f"cannot be read: {error.strerror}", f"correct {key}.path", key) from None
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        raise refusal(path, "is not a zip file or is damaged", "export it again", key) from None


def _check(archive: zipfile.ZipFile, path: Path, key: str) -> None:
    """Refuse an archive that claims too much, or wants to write outside its folder."""
    entries = archive.infolist()
    if len(entries) > MOST_FILES:
        raise refusal(path, f"has {len(entries)} files; at most {MOST_FILES} are unpacked", "is it an FMU?", key)
    if sum(entry.file_size for entry in entries) > MOST_BYTES:
        raise refusal(path, "is larger than 2 GiB unpacked", "is it an FMU?", key)
    for entry in entries:
        if unsafe(entry.filename) or stat.S_ISLNK(entry.external_attr >> 16):
            name = shortened(entry.filename)
            raise refusal(path, f"has a file {name!r} that leads outside of it", "do not use it: it looks malicious", key)


def unsafe(name: str) -> bool:
    """Whether a file of this name would be unpacked outside its folder."""
    parts = PurePosixPath(name).parts
    return not parts or parts[0] == "/" or ".." in parts or "\\" in name or "\0" in name or bool(re.match(r"[A-Za-z]:", name))


def _content(archive: zipfile.ZipFile, name: str, most: int, path: Path, key: str) -> bytes:
    """Return the real content of a file, whatever the archive says about its size."""
    try:
        with archive.open(name) as file:
            content = file.read(most + 1)
    except (zipfile.BadZipFile, EOFError, OSError, RuntimeError, ValueError, NotImplementedError, zipfile.zlib.error):  # type: ignore[attr-defined]
        raise refusal(path, f"is damaged: its file {shortened(name)!r} cannot be read", "export it again", key) from None
    if len(content) > most:
        raise refusal(path, f"has a file {shortened(name)!r} that is larger than it says", "do not use it", key)
    return content
