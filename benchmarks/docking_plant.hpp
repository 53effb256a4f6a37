// The world of docking: robot with a pure delay, encoders, contact, its ledger and the sensor under the target.
// Only what the benchmark runs: no noise, no lost samples, no limits, no second-order part of the robot; the robot is stiff, and
// the frames do not move.
#pragma once
#include <algorithm>

#include "delay_line.hpp"
#include "docking_row.hpp"

struct RobotParameters { double samples; int64_t rotates; };
struct ContactParameters {
    int64_t hertz; double stiffness, damping, rear_ratio, hertz_stiffness, friction; Vec n_W, tip_B;
    int64_t rotates; double free, middle; int64_t collisions;
};
struct LedgerParameters { Vec tip_B; int64_t rotates; };
struct SensorParameters {
    double samples, share; Vec bias, torque_bias; double saturation, torque_saturation, resolution, torque_resolution;
    Quat q_BS; Vec p_BcmSo_B; int64_t rotates;
};
template <class F> void fields(RobotParameters& a, F f) { FIELD(samples) FIELD(rotates) }
template <class F> void fields(ContactParameters& a, F f) {
    FIELD(hertz) FIELD(stiffness) FIELD(damping) FIELD(rear_ratio) FIELD(hertz_stiffness) FIELD(friction) FIELD(n_W)
    FIELD(tip_B) FIELD(rotates) FIELD(free) FIELD(middle) FIELD(collisions)
}
template <class F> void fields(LedgerParameters& a, F f) { FIELD(tip_B) FIELD(rotates) }
template <class F> void fields(SensorParameters& a, F f) {
    FIELD(samples) FIELD(share) FIELD(bias) FIELD(torque_bias) FIELD(saturation) FIELD(torque_saturation)
    FIELD(resolution) FIELD(torque_resolution) FIELD(q_BS) FIELD(p_BcmSo_B) FIELD(rotates)
}

struct RobotState { MotionLine line; };
struct ContactState { int64_t touching; };
struct LedgerState {
    Vec true_, des, f; int64_t started; Port environment, sampling, delay, sensor, compensation, controller;
};
struct SensorState { WrenchLine line; Vec f, tau; };
template <class F> void fields(RobotState& a, F f) { FIELD(line) }
template <class F> void fields(ContactState& a, F f) { FIELD(touching) }
template <class F> void fields(LedgerState& a, F f) {
    f("true", a.true_);  // `true` is a keyword in C++
    FIELD(des) FIELD(f) FIELD(started) FIELD(environment) FIELD(sampling) FIELD(delay) FIELD(sensor) FIELD(compensation)
    FIELD(controller)
}
template <class F> void fields(SensorState& a, F f) { FIELD(line) FIELD(f) FIELD(tau) }

inline void robot(Row& row, RobotState& x, const RobotParameters& p) {
    push(x.line, row.X_WB_cmd, row.V_WB_cmd);
    const auto late = neighbours(x.line, p.samples);
    row.X_WB_true = {late.vector(0), p.rotates ? late.attitude(6) : row.X_WB_cmd.q};
    row.V_WB_true = {late.vector(3), p.rotates ? late.vector(10) : row.V_WB_cmd.w};
}

inline void encoder(Row& row) {
    row.X_WB_meas = row.X_WB_true;
    row.V_WB_meas = row.V_WB_true;
}

inline double normal_force(const ContactParameters& p, double k, double k_hertz, double depth, double rate) {
    const double spring = p.hertz ? k_hertz * depth * std::sqrt(depth) : k * depth;
    return std::max(0.0, spring + p.damping * rate);
}

inline void contact(Row& row, ContactState& x, const ContactParameters& p) {
    constexpr double SLIDING_SPEED = 1e-4, NEAR = 0.8;
    const Vec tip = p.rotates ? rotate(row.X_WB_true.q, p.tip_B) : p.tip_B, at = row.X_WB_true.p + tip;
    const Vec v = p.rotates ? row.V_WB_true.v + cross(row.V_WB_true.w, tip) : row.V_WB_true.v;
    const double along = dot(p.n_W, at) - p.middle, rate = dot(p.n_W, v);

    int side = 0;
    double force = 0.0, depth = 0.0;
    if (along > p.free) {
        side = 1;
        depth = along - p.free;
        force = normal_force(p, p.stiffness, p.hertz_stiffness, depth, rate);
    } else if (along < -p.free) {
        side = -1;
        depth = -along - p.free;
        force = normal_force(p, p.rear_ratio * p.stiffness, p.rear_ratio * p.hertz_stiffness, depth, -rate);
    }
    Vec f = (side * force) * p.n_W;
    if (p.friction > 0.0 && force > 0.0) {
        const Vec sliding = v - rate * p.n_W;
        f = f + (p.friction * force / std::sqrt(dot(sliding, sliding) + SLIDING_SPEED * SLIDING_SPEED)) * sliding;
    }

    if (side != 0 && (x.touching == 0 || side != x.touching)) {
        row.collision += 1;
        x.touching = side;
    } else if (std::abs(along) < NEAR * p.free) {
        x.touching = 0;
    }
    if (row.collision > p.collisions || (row.collision == p.collisions && x.touching == 0)) row.done = 1;
    row.F_C_true_W = f;
    row.p_C_true_W = at;
    row.penetration = depth;
    row.contact = side;
}

inline void contact_ledger(Row& row, LedgerState& x, const LedgerParameters& p) {
    const Vec des = row.X_WB_cmd.p + (p.rotates ? rotate(row.X_WB_cmd.q, p.tip_B) : p.tip_B), at = row.p_C_true_W;
    const Vec f = row.F_C_true_W, held = x.f, mea = row.F_mea_W;
    if (x.started) {
        const Vec moved = at - x.true_, asked = des - x.des, mean = 0.5 * (held + f);
        book(x.environment, -dot(mean, moved), 1.0, 1.0);
        book(x.sampling, -dot(held - mean, moved), 1.0, 1.0);
        book(x.delay, -dot(held, asked - moved), 1.0, 1.0);
        book(x.sensor, -dot(mea - held, asked), 1.0, 1.0);
        book(x.compensation, -dot(row.F_comp_W - mea, asked), 1.0, 1.0);
        book(x.controller, -dot(row.F_alpha_W, asked), 1.0, 1.0);
    }
    x.true_ = at;
    x.des = des;
    x.f = f;
    x.started = 1;
    row.W_environment = x.environment;
    row.W_sampling = x.sampling;
    row.W_delay = x.delay;
    row.W_sensor = x.sensor;
    row.W_compensation = x.compensation;
    row.W_controller = x.controller;
}

inline double convert(double value, double most, double step) {
    if (most > 0.0) value = std::min(std::max(value, -most), most);
    return step > 0.0 ? step * std::nearbyint(value / step) : value;
}

inline void measure(Row& row, SensorState& x, const SensorParameters& p, Vec f, Vec tau) {
    if (p.samples > 0.0) {
        push(x.line, f, tau);
        const auto late = neighbours(x.line, p.samples);
        f = late.vector(0);
        tau = late.vector(3);
    }
    if (p.share < 1.0) {
        f = x.f = x.f + p.share * (f - x.f);
        tau = x.tau = x.tau + p.share * (tau - x.tau);
    }
    f = f + p.bias;
    tau = tau + p.torque_bias;
    for (int i = 0; i < 3; ++i) {
        row.F_So_S.f[i] = convert(f[i], p.saturation, p.resolution);
        row.F_So_S.tau[i] = convert(tau[i], p.torque_saturation, p.torque_resolution);
    }
}

inline void target_sensor(Row& row, SensorState& x, const SensorParameters& p) {
    const Vec f_W = row.F_C_true_W;
    if (!p.rotates) return measure(row, x, p, f_W, {});
    const Vec tau_W = cross(row.p_C_true_W - p.p_BcmSo_B, f_W);
    measure(row, x, p, rotate_back(p.q_BS, f_W), rotate_back(p.q_BS, tau_W));
}
