"""What the driver of a Net F/T must know about the sensor and the run."""

from typing import Any, Literal

from pydantic import Field, model_validator

from hilt.core.faults import Unfit
from hilt.core.scenario import Section
from hilt.core.units import Count, Hertz, Newton, NewtonMetre, Number, Positive, Second
from hilt.device.netft import codec


class NetFTSettings(Section):
    """A sensor's section in a rig file, without its address."""

    dialect: Literal["ati", "onrobot"] = Field(default="ati", description="of an ATI Net F/T, or of OnRobot and OptoForce")
    counts_per_force: Number = Field(gt=0, description="counts per newton, from the sensor's web page")
    counts_per_torque: Number = Field(gt=0, description="counts per newton metre, from the sensor's web page")
    stale: Second = Field(gt=0, description="it is a fault if the newest sample is older than this")
    frozen: Second = Field(ge=0, description="it is a fault if the counts stay the same for this long; 0 disables the check")
    gap: Count = Field(default=0, ge=0, description="consecutive records that may be lost in transit; 0 for any number")
    jump_force: Newton = Field(default=0.0, ge=0, description="largest change that a contact causes between records; 0 for any")
    jump_torque: NewtonMetre = Field(
        default=0.0, ge=0, description="largest change that a contact causes between records; 0 for any"
    )
    rate: Positive[Hertz] | None = Field(default=None, description="requested records per second; onrobot only")
    filter: Hertz | None = Field(default=None, ge=0, description="requested cut-off frequency, 0 for none; onrobot only")

    @model_validator(mode="before")
    @classmethod
    def _usual_counts(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.get("dialect") == "onrobot":
            return {"counts_per_force": 1e4, "counts_per_torque": 1e5, **given}
        return given

    @model_validator(mode="after")
    def _settable(self) -> "NetFTSettings":
        if self.dialect == "ati" and not (self.rate is None and self.filter is None):
            raise Unfit("rate and filter are for dialect = 'onrobot'; an ATI sensor is set on its web page", "dialect")
        if self.filter is not None and self.filter not in codec.FILTERS:
            known = ", ".join(f"{each:g}" for each in codec.FILTERS)
            raise Unfit(f"filter is {self.filter:g} Hz; the sensor has {known} Hz (0 for none); choose one of these", "filter")
        low, high = codec.PERIODS
        if self.rate is not None and not low <= round(1e3 / self.rate) <= high:
            raise Unfit(f"rate is {self.rate:g} Hz; it must be {1e3 / high:.3g} to {1e3 / low:g} Hz; change it", "rate")
        return self
