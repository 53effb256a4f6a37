"""An emulated Franka robot: Connect, Move and StopMove over TCP, states and commands over UDP, and the robot's reflexes.

Every millisecond it sends its state. While a motion runs, a command with the number of the newest state is expected before the
next one; it is checked against the limits of a Franka Research 3. A command with too much speed, acceleration or jerk triggers
a reflex (reflexes.py); so do `late_limit` cycles without a command, and until then the robot goes on with its last
acceleration, as a real one does. After a reflex it must be recovered (`restart`, or a client's request). It takes either poses
of its tool, and then has no joints, or angles of the joints of its URDF; a joint beyond its limits triggers a reflex, too.
"""

import contextlib
import selectors
import socket
from collections.abc import Callable
from typing import Any

import numpy as np

from hilt.core import clock
from hilt.device.arm import Arm, ArmSettings
from hilt.device.fci import codec, reflexes
from hilt.device.peer import PeerPort
from hilt.device.rtde.server import listen
from hilt.host import machine
from hilt.maths import so3

LOST_MAX = 20  # missing commands in a row that a real robot tolerates
_OUTSIDE = "joint_motion_generator_position_limits_violation"

Wrench = Callable[[], tuple[Any, Any]]


def description() -> str:
    """Return seven joints as a URDF, without geometry: some clients look up joint limits in it before they do anything."""
    links = "".join(f'<link name="link{number}"/>' for number in range(8))
    joints = "".join(
        f'<joint name="emulated_joint{number}" type="revolute"><parent link="link{number - 1}"/><child link="link{number}"/>'
        '<axis xyz="0 0 1"/><limit effort="50" lower="-3" upper="3" velocity="2.5"/>'
        '<position_based_velocity_limits deceleration_limit="5" velocity_offset="0.5"/></joint>'
        for number in range(1, 8)
    )
    return f'<?xml version="1.0"?><robot name="emulated">{links}{joints}</robot>'


def _nothing() -> tuple[Any, Any]:
    return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)


class FciController(Arm):
    """An emulated Franka robot; `wrench()` returns force [N] and torque [N·m] at the tool, in the axes of the base."""

    STAMP = "state"
    STILL = 3e-7  # its state has 32 bits: a client that repeats the set-point in it may differ by so much

    def __init__(self, address: str, port: int, settings: ArmSettings, wrench: Wrench = _nothing) -> None:
        self.user_stop = self.guiding = False
        self.moves = self.ended = 0  # motions that began, and those that a client ended properly
        self.errors: set[str] = set()
        self._listening = listen(address, port)
        self._choice = machine.selector()
        self._choice.register(self._listening, selectors.EVENT_READ)
        self._client: Any = None
        self._buffer = bytearray()
        self._pending: codec.Message | None = None  # a client that waits until the robot is ready
        self._port = PeerPort(codec.COMMAND.itemsize)
        self._state, self._received = codec.OutgoingState(), np.zeros(1, codec.READ_COMMAND)[0]
        self._number = 0  # of the newest state
        self._motion = 0  # number of the request that began the motion; 0 for none
        self._controller = codec.OTHER_CONTROLLER
        self._reasons: set[str] = set()
        self._reflexes = reflexes.of_poses()
        self._generator, self._shown = codec.CARTESIAN_POSITION, codec.CARTESIAN_GENERATOR
        self._wrench = wrench
        # Compile before the first command arrives.
        codec.decode_command(bytes(codec.COMMAND.itemsize), self._generator, self._received)
        codec.pose_in(np.eye(4).ravel(), 0, self._received["X"])
        super().__init__(settings)
        if self.joints is not None:
            self._reflexes = reflexes.of_joints(self.joints.speed_limits)
            self._generator, self._shown = codec.JOINT_POSITION, codec.JOINT_GENERATOR
            self._angles = np.array(self.joints.actual(self._set))  # measured

    @property
    def stamp(self) -> int:
        return self._number

    @property
    def strangers(self) -> int:
        return self._port.strangers

    @property
    def address(self) -> tuple[str, int]:
        address, port = self._listening.getsockname()
        return address, port

    def _close(self) -> None:
        self._drop()
        self._choice.close()
        self._listening.close()

    def serve(self) -> None:
        """Run its cycles until `stop`."""
        due = clock.now()
        while not self._end.wait(max(due + self._random.uniform(0.0, self.settings.jitter) - clock.now(), 0.0)):
            due = self._on_time(due)
            self._take_requests()
            self._response.settle(due)
            self._send(due)
            due += self.settings.true_cycle
            if self._port.opened:
                self._listen(due)
            self.cycles += 1

    def _skip(self, due: float, count: int) -> None:
        self._number += count
        for k in range(count):
            if self._motion:
                self._coast(due + k * self.settings.true_cycle)

    # Requests

    def _take_requests(self) -> None:
        """Handle requests that have arrived. A second client is turned away: a robot has only one."""
        if self._pending is not None and not self.reason:
            self._connect(self._pending.number, self._pending.payload)
        # The one that it has comes first: it may have gone, and another one taken its place.
        for key, _ in sorted(self._choice.select(0.0), key=lambda ready: ready[0].fileobj is self._listening):
            if key.fileobj is self._listening:
                with contextlib.suppress(OSError):
                    connection, _ = self._listening.accept()
                    if self._client is None:
                        self._client = connection
                        connection.setblocking(False)
                        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                        self._choice.register(connection, selectors.EVENT_READ)
                    else:
                        connection.close()
            elif self._client is not None and not self.disconnect:
                self._read(self._client)

    def _read(self, client: Any) -> None:
        try:
            data = client.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._buffer += data
        code, found = codec.take_message(self._buffer)
        while found is not None:
            self._answer(found)
            code, found = codec.take_message(self._buffer)
        if not data or code != codec.OK:
            self.refused += bool(data)
            self._drop()

    def _drop(self) -> None:
        """Drop the client; a motion ends with it."""
        if self._client is None:
            return
        with contextlib.suppress(KeyError):
            self._choice.unregister(self._client)
        self._client.close()
        self._client = self._pending = None
        self._buffer.clear()
        self._port.close()
        if self._motion:
            self._end_motion(codec.PREEMPTED)
        if self._last_stamp:
            self._halt("its client has disconnected")

    def _say(self, data: bytes) -> None:
        if self._client is not None:
            with contextlib.suppress(OSError):
                self._client.send(data)

    def _answer(self, request: codec.Message) -> None:
        command, number, payload = request
        if command == codec.CONNECT:
            self._pending = request
        elif command == codec.MOVE:
            self._begin_motion(number, *codec.read_move_request(payload))
        elif command == codec.STOP_MOVE:
            self._say(codec.status_reply(command, number, codec.SUCCESS))
            if self._motion:
                self._end_motion(codec.PREEMPTED)
        elif command == codec.AUTOMATIC_ERROR_RECOVERY:
            if self.errors:
                self.restart()
            self._say(codec.status_reply(command, number, codec.SUCCESS))
        elif command == codec.GET_ROBOT_MODEL:
            self._say(codec.status_reply(command, number, codec.SUCCESS, description().encode()))
        else:  # settings of a controller that is not emulated
            self._say(codec.status_reply(command, number, codec.SUCCESS))

    def _connect(self, number: int, payload: bytes) -> None:
        version, port = codec.read_connect_request(payload)
        self._pending = None
        if version != codec.VERSION or self._client is None:
            self._say(codec.connect_reply(number, codec.INCOMPATIBLE))
            return
        self._port = PeerPort(codec.COMMAND.itemsize)
        self._port.bind(self._listening.getsockname()[0], 0)
        self._port.peer = self._client.getpeername()[0], port
        self._port.settle()
        self._say(codec.connect_reply(number, codec.SUCCESS))

    def _begin_motion(self, number: int, controller: int, generator: int) -> None:
        possible = not (self.reason or self._motion or self.user_stop or self.guiding)
        known = controller in (codec.JOINT_IMPEDANCE, codec.CARTESIAN_IMPEDANCE) and generator == self._generator
        if not (possible and known):
            self._say(codec.status_reply(codec.MOVE, number, codec.NOT_POSSIBLE if known else codec.INVALID))
            return
        self._begin()
        self._motion, self._controller = number, controller
        self.moves += 1
        self._say(codec.status_reply(codec.MOVE, number, codec.MOTION_STARTED))

    def _begin(self) -> None:
        super()._begin()
        self._reflexes.begin()

    def _end_motion(self, status: int) -> None:
        """End the motion and report its status to the client; the next motion begins at rest."""
        self._say(codec.status_reply(codec.MOVE, self._motion, status))
        self._motion, self._controller = 0, codec.OTHER_CONTROLLER
        self.ended += status == codec.SUCCESS
        self._reflexes.begin()
        self._late_in_a_row = 0

    # Reflexes

    def _reflex(self, errors: set[str], reason: str) -> None:
        self.errors = self._reasons = errors
        self._halt(reason)

    def _halt(self, reason: str) -> None:
        super()._halt(reason)
        if self._motion:
            if not self.errors:
                self.errors = self._reasons = {"cartesian_position_limits_violation"}
            self._end_motion(codec.EMERGENCY_ABORTED if self.user_stop else codec.REFLEX_ABORTED)

    def restart(self) -> None:
        self.errors = set()
        super().restart()

    # Commands

    def _listen(self, due: float) -> None:
        """Receive the command of this cycle; one that has already arrived counts even if this process itself is late."""
        heard, deadline = False, self._answered_by(due)
        while True:
            data, sender = self._port.receive(0.0 if heard else deadline)
            if sender is None:
                break
            if self.disconnect:
                continue
            code = codec.decode_command(data, self._generator, self._received)
            if code != codec.OK or int(self._received["message_id"]) != self._number or heard or not self._motion:
                self.refused += 1
                continue
            heard = True
            self._hear(due)
        if heard:
            self._late_in_a_row = 0
        elif self._motion:
            self._miss(due)

    def _hear(self, due: float) -> None:
        if self.user_stop:
            self._halt("the user stop is pressed")
            return
        if wrong := self._reflexes.check(self._step(), self.settings.cycle):
            said = " and ".join(error.partition("generator_")[2].replace("_", " ") for error in wrong)
            self._reflex(set(wrong), f"{said} at state {self._number}")
            return
        if self.joints is None:
            self._next["p"], self._next["q"] = self._received["X"]["p"], self._received["X"]["q"]
        elif why := self.joints.outside(self._received["q"]):
            self._reflex({_OUTSIDE}, why)
            return
        else:
            self.joints.take(self._received["q"], self._next)
        self._follow(self._next, due, 1)
        if self._motion and self._received["finished"]:
            self._end_motion(codec.SUCCESS)

    def _step(self) -> Any:
        """Return the step from the set-point to the command."""
        if self.joints is not None:
            return self._received["q"] - self.joints.target
        turn = so3.between(tuple(self._set["q"].tolist()), tuple(self._received["X"]["q"].tolist()))
        return np.array([*(self._received["X"]["p"] - self._set["p"]), *turn])

    def _miss(self, due: float = 0.0) -> None:
        """Handle a cycle without a command: go on with the last acceleration, for a while."""
        if not self._last_stamp:
            return
        self.late += 1
        self._late_in_a_row += 1
        if self._late_in_a_row >= self.settings.late_limit:
            self._reflex({"communication_constraints_violation"}, f"{self._late_in_a_row} commands in a row were lost")
            return
        self._coast(due)

    def _coast(self, due: float) -> None:
        """Go on with the last acceleration for a cycle."""
        dt, before = self.settings.cycle, self._set["p"].copy()
        step = self._reflexes.coast(dt)
        if self.joints is None:
            self._set["p"] += step[:3]
            self._set["q"] = so3.multiply(so3.exp(tuple(step[3:].tolist())), tuple(self._set["q"].tolist()))
        elif why := self.joints.outside(self.joints.target + step):
            self._reflex({_OUTSIDE}, why)
            return
        else:
            self.joints.take(self.joints.target + step, self._set)
        self._velocity = (self._set["p"] - before) / dt
        self._response.command(self._set, due, due + dt)

    # What it shows

    @property
    def mode(self) -> int:
        if self.user_stop:
            return codec.USER_STOPPED
        if self.errors:
            return codec.REFLEX
        if self.guiding:
            return codec.GUIDING
        return codec.MOVING if self._motion else codec.IDLE

    def _send(self, due: float) -> None:
        """Send the state at the tick itself: the packet may be late, the tick is not."""
        p, q, v, _ = self._response.at(due)
        self._check_speed(v)
        state, shown = self._state.fields, self._next
        self._number += 1
        shown["p"], shown["q"] = self._aside.at(due, p, q)
        self._state.place("O_T_EE", shown)
        for name in ("O_T_EE_d", "O_T_EE_c"):
            self._state.place(name, self._set)
        f, tau = self._wrench()
        turn = tuple(float(part) for part in shown["q"])
        state["O_F_ext_hat_K"][0] = (*f, *tau)
        state["K_F_ext_hat_K"][0] = (*so3.rotate_back(turn, tuple(f)), *so3.rotate_back(turn, tuple(tau)))
        self._show_rates(state, shown)
        state["message_id"], state["robot_mode"] = self._number, self.mode
        state["motion_generator_mode"] = self._shown if self._motion else codec.IDLE_GENERATOR
        state["controller_mode"] = self._controller
        state["errors"][0] = [name in self.errors for name in codec.ERRORS]
        state["reflex_reason"][0] = [name in self._reasons for name in codec.ERRORS]
        state["control_command_success_rate"] = 1.0 if self._motion and not self._late_in_a_row else 0.0
        self.line.release(clock.now())
        if self._port.opened and not self.disconnect:
            self.line.send(bytes(self._state.data), clock.now(), self._port.send)

    def _show_rates(self, state: Any, shown: Any) -> None:
        """Write the rates of the set-point, and the joint angles if it has joints."""
        if self.joints is None:
            state["O_dP_EE_c"][0], state["O_ddP_EE_c"][0] = self._reflexes.rates
            return
        angles = self.joints.actual(shown)
        state["q"][0], state["dq"][0], state["q_d"][0] = (
            angles,
            (angles - self._angles) / self.settings.cycle,
            self.joints.target,
        )
        state["dq_d"][0], state["ddq_d"][0] = self._reflexes.rates
        self._angles[:] = angles
