"""Ports outside the balance, and the two ports that the link has with a joystick."""

import numpy as np
import pytest

from hilt import job
from hilt.core import ledger
from hilt.core.signals import PORT

TURNING = (
    "arm.model=point",
    "arm.count=1",
    "grip.rotational_stiffness=1.8 kN*m/rad",
    "grip.rotational_damping=27 N*m*s/rad",
    "link.delay=0.1 s",
    "loop.duration=6 s",
    "arm.force_noise=0.2 N",
    "operator.duration=2 s",
)


def test_a_watched_port_is_not_part_of_the_balance():
    rows = np.zeros(2, np.dtype([("W_in", PORT), ("W_seen", PORT)]))
    rows["W_in"]["into"][1], rows["W_seen"]["into"][1], rows["W_seen"]["out"][1] = 3.0, 7.0, 2.0
    found = ledger.table(rows, {"W_in": "in"}, lambda some: some["W_in"]["into"], {"W_seen": "seen"})
    assert found["residual_J"] == 0.0
    assert found["exchanged_J"] == 3.0
    assert found["beside"] == [{"port": "seen", "meaning": "seen", "in_J": 7.0, "out_J": 2.0, "net_J": 5.0}]
    assert ledger.table(rows, {"W_in": "in"}, lambda some: some["W_in"]["into"])["beside"] == []


def test_the_ports_are_force_times_distance_and_torque_times_angle():
    """Recomputed from the rows: the virtual wrench of a tick on its own motion, the slave's mean wrench on the measured one."""
    result = job.simulate(*job.find("payload", "two-arms", list(TURNING)))
    rows, dt = result.rows, result.scenario.loop.period
    put_in = dt * ((rows["f_vir"] * rows["v_vir"]).sum(axis=1) + (rows["tau_vir"] * rows["w_vir"]).sum(axis=1))
    assert np.abs(rows["tau_s"]).max() > 0.1, "something turns"
    assert rows["W_master"]["into"][-1] == pytest.approx(put_in[put_in > 0].sum(), rel=1e-12)
    assert rows["W_master"]["out"][-1] == pytest.approx(-put_in[put_in < 0].sum(), rel=1e-12)
    mean_f, mean_tau = (0.5 * (rows[name][1:] + rows[name][:-1]) for name in ("f_s", "tau_s"))
    moved = (mean_f * np.diff(rows["x_s"], axis=0)).sum(axis=1)
    turned = (mean_tau * dt * rows["w_s"][1:]).sum(axis=1)  # a point arm turns by w dt in a tick
    net = rows["W_slave"]["out"] - rows["W_slave"]["into"]
    assert net[-1] == pytest.approx((moved + turned).sum(), rel=1e-9)
    assert net[-1] != pytest.approx(moved.sum(), rel=1e-4), "the turn counts"


def test_no_work_is_booked_where_the_virtual_arm_is_repositioned():
    """After an outage it is moved to where the slave arm is, 0.3 m in a tick: the port must not count this."""
    result = job.simulate(*job.find("payload", "outage", ["loop.duration=75 s"]))
    rows = result.rows
    jump = int(np.argmax(np.linalg.norm(np.diff(rows["x_vir"], axis=0), axis=1)))
    assert np.linalg.norm(rows["x_vir"][jump + 1] - rows["x_vir"][jump]) > 0.1
    for side in ("into", "out"):
        assert rows["W_master"][side][jump + 1] == pytest.approx(rows["W_master"][side][jump], abs=1e-9)
