"""The fields of RTDE with their types, as the Universal Robots guide lists them for e-Series software 5."""

REGISTERS = 48  # of each kind; the upper half is for clients, the lower one for field buses


def _numbered(name: str, kind: str, count: int = REGISTERS) -> dict[str, str]:
    return {f"{name}_{number}": kind for number in range(count)}


OUTPUTS = {
    "timestamp": "DOUBLE",
    **dict.fromkeys(
        ("target_q", "target_qd", "target_qdd", "target_current", "target_moment", "actual_q", "actual_qd"), "VECTOR6D"
    ),
    **dict.fromkeys(("actual_current", "actual_current_window", "joint_control_output", "joint_temperatures"), "VECTOR6D"),
    **dict.fromkeys(("actual_TCP_pose", "actual_TCP_speed", "actual_TCP_force", "target_TCP_pose"), "VECTOR6D"),
    **dict.fromkeys(("target_TCP_speed", "actual_joint_voltage", "tcp_offset", "ft_raw_wrench"), "VECTOR6D"),
    **dict.fromkeys(("actual_digital_input_bits", "actual_digital_output_bits"), "UINT64"),
    **dict.fromkeys(("actual_execution_time", "speed_scaling", "target_speed_fraction", "actual_momentum"), "DOUBLE"),
    **dict.fromkeys(("actual_main_voltage", "actual_robot_voltage", "actual_robot_current"), "DOUBLE"),
    **dict.fromkeys(("standard_analog_input0", "standard_analog_input1"), "DOUBLE"),
    **dict.fromkeys(("standard_analog_output0", "standard_analog_output1"), "DOUBLE"),
    **dict.fromkeys(("io_current", "tool_analog_input0", "tool_analog_input1", "tool_output_current"), "DOUBLE"),
    **dict.fromkeys(("tool_temperature", "tcp_force_scalar", "payload"), "DOUBLE"),
    **dict.fromkeys(("robot_mode", "safety_mode", "tool_output_voltage"), "INT32"),
    **dict.fromkeys(("safety_status",), "INT32"),
    "joint_mode": "VECTOR6INT32",
    **dict.fromkeys(("actual_tool_accelerometer", "elbow_position", "elbow_velocity", "payload_cog"), "VECTOR3D"),
    **dict.fromkeys(("robot_status_bits", "safety_status_bits", "analog_io_types", "runtime_state"), "UINT32"),
    **dict.fromkeys(("tool_analog_input_types", "tool_mode", "output_bit_registers0_to_31"), "UINT32"),
    **dict.fromkeys(("output_bit_registers32_to_63", "input_bit_registers0_to_31", "input_bit_registers32_to_63"), "UINT32"),
    "payload_inertia": "VECTOR6D",
    "script_control_line": "UINT32",
    "tool_output_mode": "UINT8",
    **dict.fromkeys(("tool_digital_output0_mode", "tool_digital_output1_mode"), "UINT8"),
    **_numbered("output_bit_register", "BOOL", 128),
    **_numbered("input_bit_register", "BOOL", 128),
    **_numbered("output_int_register", "INT32"),
    **_numbered("output_double_register", "DOUBLE"),
    **_numbered("input_int_register", "INT32"),
    **_numbered("input_double_register", "DOUBLE"),
}
INPUTS = {
    "speed_slider_mask": "UINT32",
    "speed_slider_fraction": "DOUBLE",
    **dict.fromkeys(("standard_digital_output_mask", "standard_digital_output"), "UINT8"),
    **dict.fromkeys(("configurable_digital_output_mask", "configurable_digital_output"), "UINT8"),
    **dict.fromkeys(("tool_digital_output_mask", "tool_digital_output"), "UINT8"),
    **dict.fromkeys(("standard_analog_output_mask", "standard_analog_output_type"), "UINT8"),
    **dict.fromkeys(("standard_analog_output_0", "standard_analog_output_1"), "DOUBLE"),
    **dict.fromkeys(("input_bit_registers0_to_31", "input_bit_registers32_to_63"), "UINT32"),
    **_numbered("input_bit_register", "BOOL", 128),
    **_numbered("input_int_register", "INT32"),
    **_numbered("input_double_register", "DOUBLE"),
    "external_force_torque": "VECTOR6D",
}
