// Steps 8 to 10 of the twin: run ahead of the robot by its dead time, invert the robot, stay within its limits; the same
// expressions as predict, governor and command of hilt.systems.docking.twin.
#pragma once
#include "twin_frames.hpp"

namespace twin {

struct CommandParameters { Vec n_W, tip_B; double mass, A, V, give; };
struct CommandState { Port port; double preview; };
template <class F> void fields(CommandParameters& a, F f) {
    FIELD(n_W) FIELD(tip_B) FIELD(mass) FIELD(A) FIELD(V) FIELD(give)
}
template <class F> void fields(CommandState& a, F f) { FIELD(port) FIELD(preview) }

struct Motion { double x, v, a; };
struct Reference { double r, dr, ddr, dddr; };
struct Ticking { double rate, slope; };
struct Command { double u, du; };

inline double acceleration(const Frame& frame, double mass, double x, double v) { return -frame.e * force(frame, x, v) / mass; }

inline Motion ahead(const Frame& frame, double mass, double x, double v, double horizon, int steps) {
    if ((x + v * horizon - frame.surface) * frame.e <= 0.0 && (x - frame.surface) * frame.e <= 0.0)
        return {x + v * horizon, v, 0.0};
    const double h = horizon / steps;
    double a = acceleration(frame, mass, x, v);
    for (int i = 0; i < steps; ++i) {
        v += 0.5 * h * a;
        x += h * v;
        a = acceleration(frame, mass, x, v);
        v += 0.5 * h * a;
    }
    return {x, v, a};
}

inline Reference in_real_time(const Frame& frame, double mass, const Motion& m, const Ticking& clock) {
    const auto [rate, slope] = clock;
    const double jerk = -frame.e * force_rate(frame, m.x, m.v, m.a) / mass;
    return {m.x, rate * m.v, rate * rate * m.a + slope * m.v, rate * rate * rate * jerk + 3.0 * rate * slope * m.a};
}

// Virtual time that passes in `time`; the clock continues towards its target.
inline double clock_ahead(Ticking& clock, double aim, double time) {
    const auto [rate, slope] = clock;
    const double ramp = slope == 0.0 ? 0.0 : (aim - rate) / slope;
    if (ramp <= 0.0) {
        clock.slope = 0.0;
        return rate * time;
    }
    if (time < ramp) {
        clock.rate = rate + slope * time;
        return (rate + 0.5 * slope * time) * time;
    }
    clock = {aim, 0.0};
    return aim * time - 0.5 * (aim - rate) * ramp;
}

inline Reference stretched(const Frame& frame, double give, const Reference& m) {
    const double g = 1.0 + give * slope(frame, m.r);
    return {m.r + give * frame.e * force(frame, m.r, 0.0), g * m.dr, g * m.ddr, g * m.dddr};
}

inline Command inverse(const Reference& m, double T1, double T2) {
    return {m.r + T1 * m.dr + T2 * m.ddr, m.dr + T1 * m.ddr + T2 * m.dddr};
}

inline double catch_up(double error, double rate, double most) {
    constexpr double LINEAR_WITHIN = 0.005;
    const double size = std::abs(error);
    double wanted = -error / LINEAR_WITHIN, bend = -rate / LINEAR_WITHIN;
    if (!(size < 2.0 * most * LINEAR_WITHIN * LINEAR_WITHIN)) {
        const double speed = std::sqrt(2.0 * most * size);
        wanted = std::copysign(speed, -error);
        bend = -most * rate / speed;
    }
    return within(bend + (wanted - rate) / LINEAR_WITHIN, -most, most);
}

inline Command steer(const Command& last, const Reference& now, const Command& wanted, const Command& later, double T1,
                     double preview, double A, double V, double dt) {
    const auto [u, du] = last;
    const double span = preview + dt;
    double a = 6.0 * (later.u - u) / (span * span) - (4.0 * du + 2.0 * later.du) / span;
    if (!(std::abs(a) <= A))
        a = within(now.ddr + T1 * now.dddr, -0.8 * A, 0.8 * A) + catch_up(u + dt * du - wanted.u, du - wanted.du, A);
    a = std::isfinite(a) ? within(a, -A, A) : 0.0;
    const double du_next = within(du + dt * a, -V, V);
    return {u + 0.5 * dt * (du + du_next), du_next};
}

inline void command(Row& row, CommandState& x, const CommandParameters& p, double dt) {
    constexpr int STEPS = 6, PREVIEW_STEPS = 3;
    constexpr double SHORTEST = 0.010, LONGEST = 0.025;
    row.W_twin = x.port;
    const Vec& n = p.n_W;
    const double at = dot(n, row.X_WB_sim.p) + dot(n, p.tip_B), v = dot(n, row.V_WB_sim.v), T1 = row.T1_hat, T2 = row.T2_hat;
    const Frame frame = frame_of(row, row.touch != 0 ? double(row.touch) : v > 0.0 ? 1.0 : -1.0);
    if (row.touch == 0 || x.preview == 0.0)
        x.preview = within(1.8 * T2 * frame.k / p.mass * std::abs(v) / p.A, SHORTEST, LONGEST);

    Ticking clock = {row.clock_rate, row.clock_slope};
    const double v_here = v + 0.5 * clock.rate * dt * acceleration(frame, p.mass, at, v);
    const Motion there = ahead(frame, p.mass, at, v_here, clock_ahead(clock, row.clock_aim, row.t_d_hat), STEPS);
    const Reference now = stretched(frame, p.give, in_real_time(frame, p.mass, there, clock));
    const Motion beyond = ahead(frame, p.mass, there.x, there.v, clock_ahead(clock, row.clock_aim, x.preview), PREVIEW_STEPS);
    const Reference later = stretched(frame, p.give, in_real_time(frame, p.mass, beyond, clock));

    const auto [u, du] = steer({row.u_twin, row.du_twin}, now, inverse(now, T1, T2), inverse(later, T1, T2), T1, x.preview, p.A,
                               p.V, dt);
    book(x.port, -dot(n, row.F_hat_W), (at - row.x_sim) - (u - row.u_twin), 1.0);
    row.X_WB_cmd.p = row.X_WB_sim.p + (u - at) * n;
    row.V_WB_cmd.v = row.V_WB_sim.v + (du - v) * n;
    row.r_twin = now.r;
    row.u_twin = u;
    row.du_twin = du;
    row.x_twin = at;
    row.v_twin = v;
}

}  // namespace twin
