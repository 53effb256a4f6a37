// The guard at the end of every tick; the same expressions as hilt.guard.
#pragma once
#include "records.hpp"

struct GuardLimits {
    double force, torque, speed, angular_speed, acceleration, angular_acceleration, jerk, energy;
    Vec workspace_min, workspace_max;
};
struct GuardState { Vec p, v, a; Quat q; Vec w; int64_t blind; };

template <class F> void fields(GuardLimits& a, F f) {
    FIELD(force) FIELD(torque) FIELD(speed) FIELD(angular_speed) FIELD(acceleration) FIELD(angular_acceleration) FIELD(jerk)
    FIELD(energy)
    FIELD(workspace_min) FIELD(workspace_max)
}
template <class F> void fields(GuardState& a, F f) { FIELD(p) FIELD(v) FIELD(a) FIELD(q) FIELD(w) FIELD(blind) }

enum Fault { NONE, NOT_FINITE, FORCE, TORQUE, SPEED, ANGULAR_SPEED, ACCELERATION, WORKSPACE, ENERGY, ANGULAR_ACCELERATION = 70, JERK };

template <class Row> void trip(Row& row, Fault code, int axis, double value, double limit) {
    if (row.fault != NONE) return;
    row.fault = code;
    row.fault_axis = axis;
    row.fault_value = value;
    row.fault_limit = limit;
}

template <class Row> void check(Row& row, Fault code, double square, double limit) {
    if (square > limit * limit) trip(row, code, -1, std::sqrt(square), limit);
}

template <class Row> void guard(Row& row, GuardState& x, const GuardLimits& p, double dt) {
    const Vec position = row.X_WB_cmd.p;
    const Quat q = row.X_WB_cmd.q;
    const double rate = 1.0 / dt;
    const Vec velocity = rate * (position - x.p), change = rate * (velocity - x.v);
    const Vec jolt = x.blind ? Vec{} : rate * (change - x.a);
    const Vec turn = q != x.q ? rate * between(x.q, q) : Vec{}, spin = rate * (turn - x.w);

    const double force = dot(row.F_So_S.f, row.F_So_S.f), torque = dot(row.F_So_S.tau, row.F_So_S.tau);
    const double speed = dot(velocity, velocity), acceleration = dot(change, change), angular_speed = dot(turn, turn);
    const double energy = row.H + row.H_rot;

    if (!std::isfinite(force + torque + speed + acceleration + angular_speed + energy + q[0]))
        trip(row, NOT_FINITE, -1, NAN, 0.0);
    check(row, FORCE, force, p.force);
    check(row, TORQUE, torque, p.torque);
    for (int i = 0; i < 3; ++i) {
        if (position[i] < p.workspace_min[i]) trip(row, WORKSPACE, i, position[i], p.workspace_min[i]);
        if (position[i] > p.workspace_max[i]) trip(row, WORKSPACE, i, position[i], p.workspace_max[i]);
    }
    check(row, SPEED, speed, p.speed);
    check(row, ANGULAR_SPEED, angular_speed, p.angular_speed);
    check(row, ACCELERATION, acceleration, p.acceleration);
    check(row, ANGULAR_ACCELERATION, dot(spin, spin), p.angular_acceleration);
    check(row, JERK, dot(jolt, jolt), p.jerk);
    if (energy > p.energy) trip(row, ENERGY, -1, energy, p.energy);

    x.p = position;
    x.v = velocity;
    x.a = change;
    x.q = q;
    x.w = turn;
    x.blind = 0;
    if (row.fault == NONE) row.X_WB_sent = row.X_WB_cmd;
}
