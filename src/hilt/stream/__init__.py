"""Connect other programs to a running session: Foxglove and ROS 2 see its rows, and ROS 2 may send it requests.

loop ── ring ──► foxglove ──► viewers            each in its own process, which can be slow, hang or die:
  ▲      └────► ros2 ──────► subscribers         the loop does not notice
  └── mailbox ◄── live_in ◄── publishers         requests have the same rights, limits and maximum age as any other
"""
