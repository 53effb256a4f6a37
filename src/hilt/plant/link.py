"""Scenario section for a link between two places that delays, loses and duplicates packets (computed by maths/channel.py)."""

from pydantic import Field

from hilt.core.faults import Unfit
from hilt.core.scenario import Section
from hilt.core.units import Number, Second


class Link(Section):
    """Delay and losses of the link, the same in both directions."""

    delay: Second = Field(default=0.0, ge=0, description="one way")
    jitter: Second = Field(default=0.0, ge=0, description="a packet may take up to this much longer")
    loss: Number = Field(default=0.0, ge=0, le=1, description="fraction of packets that never arrive")
    duplication: Number = Field(default=0.0, ge=0, le=1, description="fraction of arriving packets that arrive twice")
    outage_start: Second = Field(default=0.0, ge=0)
    outage_duration: Second = Field(default=0.0, ge=0, description="packets sent during this time are lost; 0 for no outage")

    def check(self, period: float, packets: int) -> None:
        """Check that the packets in flight fit into the memory of a channel."""
        longest, needed = packets * period, self.delay + self.jitter
        if needed > longest:
            raise Unfit(
                f"link.delay and link.jitter are {needed:g} s together; at loop.period = {period:g} s the link holds at most "
                f"{longest:g} s; shorten them or lengthen loop.period",
                "link.delay",
                "link.jitter",
                "loop.period",
            )
