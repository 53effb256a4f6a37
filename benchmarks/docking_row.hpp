// The signals of docking: the row that all stages read and write.
#pragma once
#include "records.hpp"

// Of method `twin`; pairs are front frame, rear frame.
struct TwinSignals {
    Vec F_bias_W; int64_t fresh; double F_n, x_late, v_late; int64_t touch, touch_event;
    std::array<int64_t, 2> frame_known, frame_model; std::array<double, 2> frame_k, frame_c, frame_q, frame_s;
    double t_d_hat, T1_hat, T2_hat, clock_rate, clock_slope, clock_aim, time_slip;
    double x_sim, v_sim, x_twin, v_twin, v_entry, v2_twin, W_measured, loss, E_exit, r_twin, u_twin, du_twin; Port W_twin;
};
template <class F> void fields(TwinSignals& a, F f) {
    FIELD(F_bias_W) FIELD(fresh) FIELD(F_n) FIELD(x_late) FIELD(v_late) FIELD(touch) FIELD(touch_event)
    FIELD(frame_known) FIELD(frame_model) FIELD(frame_k) FIELD(frame_c) FIELD(frame_q) FIELD(frame_s)
    FIELD(t_d_hat) FIELD(T1_hat) FIELD(T2_hat) FIELD(clock_rate) FIELD(clock_slope) FIELD(clock_aim) FIELD(time_slip)
    FIELD(x_sim) FIELD(v_sim) FIELD(x_twin) FIELD(v_twin) FIELD(v_entry) FIELD(v2_twin) FIELD(W_measured) FIELD(loss) FIELD(E_exit)
    FIELD(r_twin) FIELD(u_twin) FIELD(du_twin) FIELD(W_twin)
}

struct Row : TwinSignals {
    int64_t tick; double t; int64_t done, fault, fault_axis; double fault_value, fault_limit;
    Pose X_WB_meas; Twist V_WB_meas; Wrench F_So_S;
    Vec p_C_W, v_C_W, p_C_des_W, v_C_des_W, F_mea_W, F_act_W; int64_t in_contact; Vec e_W;
    double k_hat, c_hat, k_var, c_var; int64_t identified;
    Vec F_comp_W, F_alpha_W, F_hat_W; double E_contact, m_eff;
    Pose X_NA; Twist V_NA; Pose X_NT; Twist V_NT; Vec P_N, L_N; double H, H_rot;
    Pose X_WB_sim; Twist V_WB_sim; Pose X_WB_cmd; Twist V_WB_cmd; Pose X_WB_sent;
    Pose X_WB_true; Twist V_WB_true; Vec F_C_true_W, p_C_true_W; double penetration; int64_t collision, contact;
    Port W_environment, W_sampling, W_delay, W_sensor, W_compensation, W_controller, W_integrator, W_rotation;
};
template <class F> void fields(Row& a, F f) {
    fields(static_cast<TwinSignals&>(a), f);
    FIELD(tick) FIELD(t) FIELD(done) FIELD(fault) FIELD(fault_axis) FIELD(fault_value) FIELD(fault_limit)
    FIELD(X_WB_meas) FIELD(V_WB_meas) FIELD(F_So_S)
    FIELD(p_C_W) FIELD(v_C_W) FIELD(p_C_des_W) FIELD(v_C_des_W) FIELD(F_mea_W) FIELD(F_act_W) FIELD(in_contact) FIELD(e_W)
    FIELD(k_hat) FIELD(c_hat) FIELD(k_var) FIELD(c_var) FIELD(identified)
    FIELD(F_comp_W) FIELD(F_alpha_W) FIELD(F_hat_W) FIELD(E_contact) FIELD(m_eff)
    FIELD(X_NA) FIELD(V_NA) FIELD(X_NT) FIELD(V_NT) FIELD(P_N) FIELD(L_N) FIELD(H) FIELD(H_rot)
    FIELD(X_WB_sim) FIELD(V_WB_sim) FIELD(X_WB_cmd) FIELD(V_WB_cmd) FIELD(X_WB_sent)
    FIELD(X_WB_true) FIELD(V_WB_true) FIELD(F_C_true_W) FIELD(p_C_true_W) FIELD(penetration) FIELD(collision) FIELD(contact)
    FIELD(W_environment) FIELD(W_sampling) FIELD(W_delay) FIELD(W_sensor)
    FIELD(W_compensation) FIELD(W_controller) FIELD(W_integrator) FIELD(W_rotation)
}
