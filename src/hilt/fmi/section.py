"""The sections of a scenario that name an FMU: its file, its parameters, and which of its variables mean what."""

import functools
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field, field_validator

from hilt.core.scenario import Section
from hilt.fmi import archive, description

Name = Annotated[str, Field(max_length=200)]
Names = str | tuple[Name, ...]  # of a vector: the array, or the part before [1], [2], …; or each entry by name


class Fmu(Section):
    """A model of another tool. Its content is part of the scenario's identity, by its hash."""

    KEY: ClassVar[str]  # of the section

    path: str = Field(min_length=1, description="file of the FMU, relative to the folder in which hilt is called")
    sha256: str = Field(
        default="",
        pattern="^([0-9a-f]{64})?$",
        description="hash of that file, computed if not given; an FMU with another hash is refused",
        validate_default=True,
    )
    parameters: dict[Name, float | tuple[float, ...]] = Field(
        default={}, description="values of the FMU's parameters and start values, by name, in its own units; a list is a vector"
    )

    @property
    def file(self) -> Path:
        return Path(self.path)

    @property
    def here(self) -> bool:
        """Whether the FMU of this scenario is available."""
        return self.file.is_file() and digest(self.file, self.KEY) == self.sha256

    @field_validator("sha256")
    @classmethod
    def _identity(cls, given: str, info: Any) -> str:
        """Take the hash for a new scenario; a recorded one has it, and its rows can be shown without the FMU."""
        if given or "path" not in info.data:
            return given
        path = Path(info.data["path"])
        description.read(path, cls.KEY)  # refuses a bad one before its hash is taken
        return digest(path, cls.KEY)


def digest(path: Path, key: str) -> str:
    """Return the hash of a file, computed once for each version of it: a scenario is checked many times."""
    try:
        found = path.stat()
    except OSError as error:
        raise archive.refusal(path, f"cannot be read: {error.strerror}", f"correct {key}.path", key) from None
    return _digest(path.absolute(), found.st_mtime_ns, found.st_size, key)


@functools.lru_cache(maxsize=64)
def _digest(path: Path, changed: int, size: int, key: str) -> str:
    return archive.digest(path, key)


class BodyFmu(Fmu):
    """The simulated body as an FMU: a wrench at its centre of mass in, the motion of the centre of mass out, all in the world
    frame. `body` still gives its mass and inertia, for the energies, and where it starts."""

    KEY: ClassVar[str] = "body_fmu"

    force: Names = Field(default="force", description="input [N]")
    torque: Names = Field(default="torque", description="input [N·m]; not used unless body.dof is 6")
    position: Names = Field(default="position", description="output: of the centre of mass [m]")
    attitude: Names = Field(default="attitude", description="output: q_WB, w x y z; not used unless body.dof is 6")
    velocity: Names = Field(default="velocity", description="output: of the centre of mass [m/s]")
    angular_velocity: Names = Field(default="angular_velocity", description="output [rad/s]; not used unless body.dof is 6")


class ContactFmu(Fmu):
    """Something that the mock-up touches, as an FMU: the motion of the mock-up's frame in, the wrench on it at that frame's
    origin out, all in the world frame. An empty name leaves a variable out."""

    KEY: ClassVar[str] = "contact_fmu"

    position: Names = Field(default="position", description="input [m]")
    attitude: Names = Field(default="attitude", description="input: q_WB, w x y z")
    velocity: Names = Field(default="velocity", description="input [m/s]")
    angular_velocity: Names = Field(default="angular_velocity", description="input [rad/s]")
    force: Names = Field(default="force", description="output: on the mock-up [N]")
    torque: Names = Field(default="torque", description="output: on the mock-up, about its origin [N·m]")
