// The tick of freefloat as a C++ engineer would write it: the yardstick for the compiled Python of hilt.
// Only the rules that the benchmark runs: without Euler's rule for rotation.
#pragma once
#include <algorithm>

#include "guard.hpp"
#include "momentum_rule.hpp"

struct WrenchParameters { Quat q_BS; Vec p_BcmSo_B; };
struct TranslationParameters { double mass, threshold; int64_t axes, kind; };
struct RotationParameters { Mat inverse_inertia; int64_t rotates; };
struct SetpointParameters { Vec p_BoBcm_B; };
struct Parameters {
    double dt;
    WrenchParameters wrench; TranslationParameters translation; RotationParameters rotation; SetpointParameters setpoint;
    GuardLimits guard;
};
template <class F> void fields(WrenchParameters& a, F f) { FIELD(q_BS) FIELD(p_BcmSo_B) }
template <class F> void fields(TranslationParameters& a, F f) { FIELD(mass) FIELD(threshold) FIELD(axes) FIELD(kind) }
template <class F> void fields(RotationParameters& a, F f) { FIELD(inverse_inertia) FIELD(rotates) }
template <class F> void fields(SetpointParameters& a, F f) { FIELD(p_BoBcm_B) }
template <class F> void fields(Parameters& a, F f) {
    FIELD(dt) FIELD(wrench) FIELD(translation) FIELD(rotation) FIELD(setpoint) FIELD(guard)
}

struct TranslationState { Vec p, v, force_before; std::array<Port, 3> observer, observer_free; Port integrator, controller; };
struct RotationState { Quat q; Vec L_W; Port made; };
struct State { TranslationState translation; RotationState rotation; GuardState guard; };
template <class F> void fields(TranslationState& a, F f) {
    FIELD(p) FIELD(v) FIELD(force_before) FIELD(observer) FIELD(observer_free) FIELD(integrator) FIELD(controller)
}
template <class F> void fields(RotationState& a, F f) { FIELD(q) FIELD(L_W) FIELD(made) }
template <class F> void fields(State& a, F f) { FIELD(translation) FIELD(rotation) FIELD(guard) }

struct Row {
    int64_t fault, fault_axis; double fault_value, fault_limit;
    Pose X_WB_meas; Wrench F_So_S, F_Bcm_W;
    Pose X_WBcm; Twist V_WBcm; Pose X_WBcm_next; Twist V_WBcm_next; Vec L_W; double H, H_rot;
    Vec v_pc, v_c, beta, E_obs, E_obs_free;
    Pose X_WB_sim; Twist V_WB_sim; Pose X_WB_cmd; Twist V_WB_cmd; Pose X_WB_sent; Port W_controller, W_integrator, W_rotation;
};
template <class F> void fields(Row& a, F f) {
    FIELD(fault) FIELD(fault_axis) FIELD(fault_value) FIELD(fault_limit)
    FIELD(X_WB_meas) FIELD(F_So_S) FIELD(F_Bcm_W)
    FIELD(X_WBcm) FIELD(V_WBcm) FIELD(X_WBcm_next) FIELD(V_WBcm_next) FIELD(L_W) FIELD(H) FIELD(H_rot)
    FIELD(v_pc) FIELD(v_c) FIELD(beta) FIELD(E_obs) FIELD(E_obs_free)
    FIELD(X_WB_sim) FIELD(V_WB_sim) FIELD(X_WB_cmd) FIELD(V_WB_cmd) FIELD(X_WB_sent) FIELD(W_controller) FIELD(W_integrator) FIELD(W_rotation)
}

enum Kind { EULER, EXPLICIT, PASSIVE, PASSIVE_LITERAL, TRAPEZOID, MOMENTUM };

inline void wrench_at_com(Row& row, const WrenchParameters& p) {
    const Quat q_WB = row.X_WB_meas.q, q_WS = q_WB * p.q_BS;
    row.F_Bcm_W.f = rotate(q_WS, row.F_So_S.f);
    row.F_Bcm_W.tau = rotate(q_WS, row.F_So_S.tau) + cross(rotate(q_WB, p.p_BcmSo_B), row.F_Bcm_W.f);
}

inline double controller_velocity(const TranslationParameters& p, double energy, double force, double dt) {
    if (energy >= 0.0 || std::abs(force) <= p.threshold || (p.kind != PASSIVE && p.kind != PASSIVE_LITERAL)) return 0.0;
    const double most = dt * std::abs(force) / p.mass;
    return std::min(std::max(-energy / (dt * force), -most), most);
}

inline double moving_velocity(int64_t kind, double v_before, double v_after) {
    if (kind == EXPLICIT) return v_before;
    return kind == TRAPEZOID || kind == MOMENTUM ? 0.5 * (v_before + v_after) : v_after;
}

inline void translation(Row& row, TranslationState& x, const TranslationParameters& p, double dt) {
    row.W_integrator = x.integrator;
    row.W_controller = x.controller;
    row.X_WBcm.p = x.p;
    row.V_WBcm.v = x.v;
    row.H = 0.0;
    for (int i = 0; i < 3; ++i) {
        row.H += 0.5 * p.mass * x.v[i] * x.v[i];
        row.E_obs[i] = energy(x.observer[i]);
        row.E_obs_free[i] = energy(x.observer_free[i]);
    }
    for (int i = 0; i < p.axes; ++i) {
        const double force = row.F_Bcm_W.f[i], drive = p.kind == PASSIVE_LITERAL ? x.force_before[i] : force;
        const double v_before = x.v[i], v_after = v_before + dt * drive / p.mass;
        const double half_step = 0.5 * dt * drive / p.mass;
        book(x.observer_free[i], -drive, half_step, dt);
        book(x.observer[i], -drive, half_step, dt);
        const double v_pc = controller_velocity(p, energy(x.observer[i]), force, dt);
        book(x.observer[i], force, v_pc, dt);

        const double v_move = moving_velocity(p.kind, v_before, v_after);
        row.v_pc[i] = v_pc;
        row.v_c[i] = v_move - v_pc;
        row.beta[i] = force != 0.0 ? v_pc / force : 0.0;
        book(x.integrator, drive * 0.5 * (v_before + v_after) - force * v_move, 1.0, dt);
        book(x.controller, force, v_pc, dt);

        x.force_before[i] = force;
        x.v[i] = v_after;
        x.p[i] += dt * row.v_c[i];
    }
    row.X_WBcm_next.p = x.p;
    row.V_WBcm_next.v = x.v;
}

inline void rotation(Row& row, RotationState& x, const RotationParameters& p, double dt) {
    Vec w_W = angular_velocity(x.q, x.L_W, p.inverse_inertia);
    row.X_WBcm.q = x.q;
    row.V_WBcm.w = w_W;
    row.L_W = x.L_W;
    row.H_rot = 0.5 * dot(x.L_W, w_W);
    row.W_rotation = x.made;
    if (p.rotates) {
        const Vec tau_W = row.F_Bcm_W.tau, tau_B = rotate_back(x.q, tau_W);
        const Turn next = momentum_rule(x.q, x.L_W, w_W, tau_W, p.inverse_inertia, dt);
        book(x.made, next.gain - dot(tau_B, shortest(next.turn_B)), 1.0, 1.0);
        x.q = next.q;
        x.L_W = next.L_W;
        w_W = next.w_W;
    }
    row.X_WBcm_next.q = x.q;
    row.V_WBcm_next.w = w_W;
}

inline void setpoint(Row& row, const SetpointParameters& p) {
    const Quat q_WB = row.X_WBcm_next.q;
    const Vec c_W = rotate(q_WB, p.p_BoBcm_B), w_W = row.V_WBcm_next.w;
    row.X_WB_sim = {row.X_WBcm_next.p - c_W, q_WB};
    row.V_WB_sim = {row.V_WBcm_next.v - cross(w_W, c_W), w_W};
    row.X_WB_cmd = row.X_WB_sim;  // no lead
    row.V_WB_cmd = row.V_WB_sim;
}

inline void tick(Row& row, State& x, const Parameters& p) {
    wrench_at_com(row, p.wrench);
    translation(row, x.translation, p.translation, p.dt);
    rotation(row, x.rotation, p.rotation, p.dt);
    setpoint(row, p.setpoint);
    guard(row, x.guard, p.guard, p.dt);
}
