// The tick of freefloat as a C++ engineer would write it: the yardstick for the compiled Python of hilt.
// Only the rules that the benchmark runs are here: Euler's rule of the rotation is not.
#pragma once
#include <cstdint>

#include "rotations.hpp"

struct Port { double into, out; };
struct Pose { Vec p; Quat q; };
struct Twist { Vec v, w; };
struct Wrench { Vec f, tau; };

struct Parameters {
    double dt;
    Quat q_BS; Vec p_BcmSo_B;
    double mass, threshold; int64_t axes, kind;
    Mat inverse_inertia; int64_t rotates;
    Vec p_BoBcm_B;
    double force, torque, speed, angular_speed, acceleration, energy; Vec workspace_min, workspace_max;
};
struct State {
    Vec p, v, force_before; std::array<Port, 3> observer, observer_free; Port integrator, controller;
    Quat q; Vec L_W; Port made;
    Vec guard_p, guard_v; Quat guard_q; int64_t moving;
};
struct Row {
    int64_t fault, fault_axis; double fault_value, fault_limit;
    Pose X_WB_meas; Wrench F_So_S, F_Bcm_W;
    Pose X_WBcm; Twist V_WBcm; Pose X_WBcm_next; Vec L_W; double H, H_rot;
    Vec v_pc, v_c, beta, E_obs, E_obs_free;
    Pose X_WB_des; Port W_controller, W_integrator, W_rotation;
};

enum Kind { EULER, EXPLICIT, PASSIVE, PASSIVE_LITERAL, TRAPEZOID, MOMENTUM };
enum Fault { NONE, NOT_FINITE, FORCE, TORQUE, SPEED, ANGULAR_SPEED, ACCELERATION, WORKSPACE, ENERGY };

inline void book(Port& port, double effort, double flow, double dt) {
    const double work = effort * flow * dt;
    if (work >= 0.0) port.into += work; else port.out -= work;
}
inline double energy(const Port& port) { return port.into - port.out; }

inline void wrench_at_com(Row& row, const Parameters& p) {
    const Quat q_WB = row.X_WB_meas.q, q_WS = q_WB * p.q_BS;
    row.F_Bcm_W.f = rotate(q_WS, row.F_So_S.f);
    row.F_Bcm_W.tau = rotate(q_WS, row.F_So_S.tau) + cross(rotate(q_WB, p.p_BcmSo_B), row.F_Bcm_W.f);
}

inline double controller_velocity(int64_t kind, double energy, double force, double mass, double threshold, double dt) {
    if (energy >= 0.0) return 0.0;
    if (kind == PASSIVE && force != 0.0) return -energy / (dt * force);
    if (kind == PASSIVE_LITERAL && std::abs(force) > threshold) {
        const double most = dt * std::abs(force) / mass;
        return std::fmin(std::fmax(-energy / (dt * force), -most), most);
    }
    return 0.0;
}

inline void translation(Row& row, State& x, const Parameters& p) {
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
        const double v_before = x.v[i], v_after = v_before + p.dt * drive / p.mass;
        const double half_step = 0.5 * p.dt * drive / p.mass;
        book(x.observer_free[i], -drive, half_step, p.dt);
        book(x.observer[i], -drive, half_step, p.dt);
        const double v_pc = controller_velocity(p.kind, energy(x.observer[i]), force, p.mass, p.threshold, p.dt);
        book(x.observer[i], force, v_pc, p.dt);

        const bool mean = p.kind == TRAPEZOID || p.kind == MOMENTUM;
        const double v_move = p.kind == EXPLICIT ? v_before : mean ? 0.5 * (v_before + v_after) : v_after;
        row.v_pc[i] = v_pc;
        row.v_c[i] = v_move - v_pc;
        row.beta[i] = force != 0.0 ? v_pc / force : 0.0;
        book(x.integrator, drive * 0.5 * (v_before + v_after) - force * v_move, 1.0, p.dt);
        book(x.controller, force, v_pc, p.dt);

        x.force_before[i] = force;
        x.v[i] = v_after;
        x.p[i] += p.dt * row.v_c[i];
    }
    row.X_WBcm_next.p = x.p;
}

inline Vec angular_velocity(const Quat& q, const Vec& L_W, const Mat& inverse_inertia) {
    return rotate(q, inverse_inertia * rotate(inverse(q), L_W));
}

inline void rotation(Row& row, State& x, const Parameters& p) {
    const Quat q = x.q;
    const Vec L_W = x.L_W, w_W = angular_velocity(q, L_W, p.inverse_inertia);
    row.X_WBcm.q = q;
    row.V_WBcm.w = w_W;
    row.L_W = L_W;
    row.H_rot = 0.5 * dot(L_W, w_W);
    row.W_rotation = x.made;
    if (p.rotates) {
        const Vec tau_W = row.F_Bcm_W.tau, L_half = L_W + (0.5 * p.dt) * tau_W;
        const Quat q_half = exp((0.5 * p.dt) * w_W) * q;
        const Vec turn = p.dt * angular_velocity(q_half, L_half, p.inverse_inertia);
        x.q = normalise(exp(turn) * q);
        x.L_W = L_W + p.dt * tau_W;
        const Vec w_after = angular_velocity(x.q, x.L_W, p.inverse_inertia);
        const double gain = 0.5 * p.dt * dot(tau_W, w_W + w_after) + 0.5 * (dot(L_W, w_after) - dot(x.L_W, w_W));
        book(x.made, gain - dot(tau_W, turn), 1.0, 1.0);
    }
    row.X_WBcm_next.q = x.q;
}

inline void setpoint(Row& row, const Parameters& p) {
    row.X_WB_des.q = row.X_WBcm_next.q;
    row.X_WB_des.p = row.X_WBcm_next.p - rotate(row.X_WBcm_next.q, p.p_BoBcm_B);
}

inline void trip(Row& row, Fault code, int axis, double value, double limit) {
    if (row.fault != NONE) return;
    row.fault = code;
    row.fault_axis = axis;
    row.fault_value = value;
    row.fault_limit = limit;
}

inline void guard(Row& row, State& x, const Parameters& p) {
    const Vec position = row.X_WB_des.p;
    const Quat q = row.X_WB_des.q;
    const Vec velocity = (1.0 / p.dt) * (position - x.guard_p), change = (1.0 / p.dt) * (velocity - x.guard_v);
    const double force = norm(row.F_So_S.f), torque = norm(row.F_So_S.tau), speed = norm(velocity);
    const double acceleration = x.moving ? norm(change) : 0.0;
    const double angular_speed = norm(log(q * inverse(x.guard_q))) / p.dt, energy = row.H + row.H_rot;

    if (!std::isfinite(force + torque + speed + acceleration + angular_speed + energy + q[0]))
        trip(row, NOT_FINITE, -1, NAN, 0.0);
    if (force > p.force) trip(row, FORCE, -1, force, p.force);
    if (torque > p.torque) trip(row, TORQUE, -1, torque, p.torque);
    for (int i = 0; i < 3; ++i) {
        if (position[i] < p.workspace_min[i]) trip(row, WORKSPACE, i, position[i], p.workspace_min[i]);
        if (position[i] > p.workspace_max[i]) trip(row, WORKSPACE, i, position[i], p.workspace_max[i]);
    }
    if (speed > p.speed) trip(row, SPEED, -1, speed, p.speed);
    if (angular_speed > p.angular_speed) trip(row, ANGULAR_SPEED, -1, angular_speed, p.angular_speed);
    if (acceleration > p.acceleration) trip(row, ACCELERATION, -1, acceleration, p.acceleration);
    if (energy > p.energy) trip(row, ENERGY, -1, energy, p.energy);

    x.guard_p = position;
    x.guard_v = velocity;
    x.guard_q = q;
    x.moving = 1;
}

inline void tick(Row& row, State& x, const Parameters& p) {
    wrench_at_com(row, p);
    translation(row, x, p);
    rotation(row, x, p);
    setpoint(row, p);
    guard(row, x, p);
}
