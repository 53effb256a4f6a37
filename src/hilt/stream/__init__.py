"""A running session for programs of others: Foxglove and ROS 2 see its rows, and ROS 2 may send it requests.

loop ── ring ──► foxglove ──► viewers            each in a process of its own, which can be slow, hang or die:
  ▲      └────► ros2 ──────► subscribers         the loop does not notice
  └── mailbox ◄── live_in ◄── publishers         a request is one like any other: within its rights, limits and age
"""
