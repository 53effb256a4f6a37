"""MuJoCo from compiled code: the same bytes as from Python, and a state that belongs to the record alone."""

import mujoco
import numpy as np
import pytest
from numba.core.runtime import rtsys

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.dynamics import multibody

XML = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body name="box" pos="0 0 .4"><freejoint name="free"/><geom type="box" size=".1 .15 .2" density="300"/>
      <body name="rod" pos=".1 0 .2"><joint name="hinge" axis="0 1 0" damping=".1"/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/><site name="tip" pos=".3 .05 0"/></body>
    </body>
  </worldbody>
  <actuator><general name="motor" joint="hinge" dyntype="filter" dynprm=".05" gainprm="8"/></actuator>
</mujoco>
"""
BODY = multibody.load(XML)
STATE = record(numbers=BODY.state_size, six=6, jacobian=6 * BODY.nv)
STEPS = 1000


@jit
def advance(x, p, push, k):
    """A tumbling box that falls on the floor, with an actuator that has a state and a push that changes."""
    multibody.set_state(p, x.numbers)
    multibody.set_ctrl(p, 0, 0.5 if k % 200 < 100 else -0.5)
    if k % 50 == 0:
        multibody.push_body(p, 1, (push, 0.0, 20.0), (0.0, push, 0.1))
    multibody.step(p)
    multibody.get_state(p, x.numbers)


@jit
def run(x, p, push, steps):
    for k in range(steps):
        advance(x, p, push, k)


@jit
def read(x, p):
    multibody.set_state(p, x.numbers)
    multibody.place(p)
    multibody.site_jacobian(p, 0, x.jacobian)
    return multibody.velocity(p, multibody.SITE, 0, x.six)


def start():
    x, p = np.zeros(1, STATE), np.zeros(1, multibody.MULTIBODY)
    x[0].numbers = BODY.start
    BODY.pack(p[0])
    return x, p


def by_the_bindings(push, steps=STEPS):
    model = mujoco.MjModel.from_xml_string(XML)
    data = mujoco.MjData(model)
    for k in range(steps):
        data.ctrl[0] = 0.5 if k % 200 < 100 else -0.5
        data.xfrc_applied[:] = 0.0
        if k % 50 == 0:
            data.xfrc_applied[1] = push, 0.0, 20.0, 0.0, push, 0.1
        mujoco.mj_step(model, data)
    return model, data


def test_a_thousand_steps_are_those_of_the_bindings_bit_for_bit():
    x, p = start()
    run(x[0], p[0], 3.0, STEPS)
    model, data = by_the_bindings(3.0)
    expected = np.zeros(BODY.state_size)
    mujoco.mj_getState(model, data, expected, multibody.BITS)
    assert data.ncon > 0, "it must have hit the floor, or the warm start is not tested"
    assert x[0].numbers.tobytes() == expected.tobytes()


def test_two_states_on_one_scratch_do_not_disturb_each_other():
    """So a copy of a state continues like the original, whatever was computed in between."""
    alone = []
    for push in (3.0, -7.0):
        x, p = start()
        run(x[0], p[0], push, STEPS)
        alone.append(x.tobytes())
    (a, p), (b, _) = start(), start()
    for k in range(STEPS):
        advance(a[0], p[0], 3.0, k)
        advance(b[0], p[0], -7.0, k)
    assert [a.tobytes(), b.tobytes()] == alone


def test_pose_velocity_and_jacobian_are_those_of_the_bindings():
    x, p = start()
    run(x[0], p[0], 3.0, 300)
    model, data = by_the_bindings(3.0, 300)
    mujoco.mj_forward(model, data)
    jacobian, six = np.zeros((6, model.nv)), np.zeros(6)
    mujoco.mj_jacSite(model, data, jacobian[:3], jacobian[3:], 0)
    mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_SITE, 0, six, 0)
    v, w = read(x[0], p[0])
    assert (x[0].jacobian.reshape(6, -1) == jacobian).all()
    assert v == tuple(six[3:])
    assert w == tuple(six[:3])
    assert v == pytest.approx(jacobian[:3] @ data.qvel, rel=1e-12)
    rod, params = BODY.bodies["rod"], p[0]
    assert multibody.site_position(params, BODY.sites["tip"]) == tuple(data.site_xpos[0])
    assert multibody.body_position(params, rod) == tuple(data.xpos[rod])
    assert multibody.body_centre(params, rod) == tuple(data.xipos[rod])
    assert multibody.body_attitude(params, rod) == tuple(data.xquat[rod])
    turned = multibody.site_rotate(params, 0, (1.0, 2.0, 3.0))
    assert turned == pytest.approx(data.site_xmat[0].reshape(3, 3) @ (1.0, 2.0, 3.0), rel=1e-14)
    assert multibody.joint_position(params, 7) == data.qpos[7]
    assert multibody.joint_velocity(params, 6) == data.qvel[6]


def test_inputs_of_one_step_are_gone_in_the_next():
    x, p = start()
    multibody.set_state(p[0], x[0].numbers)
    multibody.set_ctrl(p[0], 0, 1.0)
    multibody.push_body(p[0], 1, (1.0, 2.0, 3.0), (4.0, 5.0, 6.0))
    multibody.push_joint(p[0], 6, 7.0)
    assert BODY.data.qfrc_applied[6] == 7.0
    assert BODY.data.xfrc_applied[1].tolist() == [1, 2, 3, 4, 5, 6]
    assert BODY.data.ctrl[0] == 1.0
    multibody.set_state(p[0], x[0].numbers)
    assert not BODY.data.xfrc_applied.any()
    assert not BODY.data.ctrl.any()
    assert not BODY.data.qfrc_applied.any()


def test_a_state_that_is_not_finite_stays_so_and_nothing_is_written(tmp_path, monkeypatch):
    """MuJoCo would restart from its first posture and write a file: the guard would never notice."""
    monkeypatch.chdir(tmp_path)
    x, p = start()
    x[0].numbers[1] = np.nan
    advance(x[0], p[0], 0.0, 1)
    assert np.isnan(x[0].numbers[1])
    assert not list(tmp_path.iterdir())


def test_the_same_text_is_the_same_model():
    assert multibody.load(XML) is BODY
    assert multibody.load(XML.replace("300", "301")) is not BODY


def test_steps_allocate_nothing():
    x, p = start()
    counts = []
    for steps in (1, 10, 1000):
        before = rtsys.get_allocation_stats().alloc
        for k in range(steps):
            advance(x[0], p[0], 3.0, k)
            read(x[0], p[0])
        counts.append(rtsys.get_allocation_stats().alloc - before)
    assert counts[1] == counts[2] == 0


def test_the_machine_code_can_be_kept():
    """Numba refuses to cache what holds a pointer; then every start of the program would compile again."""
    x, p = start()
    run(x[0], p[0], 3.0, 1)
    compiled = next(iter(run.overloads.values()))
    assert not compiled.library.has_dynamic_globals
    assert run._cache._impl.check_cachable(compiled)


def test_a_model_reserves_little_memory_for_models_are_never_freed():
    assert BODY.data.narena <= 1 << 20
    assert BODY.data.maxuse_arena < 0.1 * BODY.data.narena  # ample, even for contacts, which hilt's own models do not have
