// The twin of one degree of freedom, stage by stage in the order of its tick; the same expressions as hilt.systems.docking.twin.
#pragma once
#include "delay_line.hpp"
#include "twin_command.hpp"
#include "twin_frames.hpp"
#include "two_bodies.hpp"

namespace twin {

using Pair = std::array<double, 2>;
using PairLine = Line<2>;

struct Reading { double value, step; };

inline Reading read(const PairLine& line, double samples, size_t which) {
    const auto late = neighbours(line, samples);
    const double newer = late.newer[which], older = late.older[which];
    return {newer + late.share * (older - newer), newer - older};
}

// Step 0: bias of the sensor, and whether its sample is new.
struct BiasParameters { double threshold; };
struct BiasState { Vec last, bias; int64_t count; };
template <class F> void fields(BiasParameters& a, F f) { FIELD(threshold) }
template <class F> void fields(BiasState& a, F f) { FIELD(last) FIELD(bias) FIELD(count) }

inline bool in_flight(const Row& row) {
    constexpr double AWAY = 2e-3;
    for (double s : row.frame_s)
        if (std::abs(row.x_twin - s) < AWAY || std::abs(row.x_late - s) < AWAY) return false;
    return row.touch == 0;
}

inline void bias(Row& row, BiasState& x, const BiasParameters& p, double dt) {
    constexpr double FIRST = 0.05, WINDOW = 0.5;
    const Vec raw = {row.F_So_S.f[0], 0.0, 0.0}, off = raw - x.bias;
    const double square = dot(off, off);
    row.fresh = !(x.count > 0 && raw == x.last);
    x.last = raw;
    if (row.fresh && in_flight(row) && square < 1e300 && (double(x.count) * dt < FIRST || square < p.threshold * p.threshold)) {
        x.count += 1;
        x.bias = x.bias + (1.0 / std::min(double(x.count), std::max(WINDOW / dt, 1.0))) * off;
    }
    row.F_bias_W = x.bias;
}

// Step 1: the force along the normal, and where the tip was when it was felt.
struct SenseParameters { Vec n_W; double samples, give; };
struct SenseState { PairLine line; double force, at, rate; };
template <class F> void fields(SenseParameters& a, F f) { FIELD(n_W) FIELD(samples) FIELD(give) }
template <class F> void fields(SenseState& a, F f) { FIELD(line) FIELD(force) FIELD(at) FIELD(rate) }

inline void sense(Row& row, SenseState& x, const SenseParameters& p) {
    const Vec& n = p.n_W;
    const double felt = dot(n, row.F_mea_W), at = dot(n, row.p_C_W), rate = dot(n, row.v_C_W);
    if (std::isfinite(felt)) x.force = felt;
    if (std::isfinite(at) && std::isfinite(rate)) {
        x.at = at;
        x.rate = rate;
    }
    x.line.advance() = {x.at, x.rate};
    row.F_n = x.force;
    row.x_late = read(x.line, p.samples, 0).value;
    row.v_late = read(x.line, p.samples, 1).value;
    if (row.touch != 0) {
        const Frame frame = frame_of(row, double(row.touch));
        row.x_late -= p.give * row.F_n;
        row.v_late = row.v_late / (1.0 + p.give * slope(frame, row.x_late));
        if (!row.fresh) row.F_n = frame.e * force(frame, row.x_late, row.v_late);
    }
    row.x_sim = dot(n, row.p_C_des_W);
    row.v_sim = dot(n, row.v_C_des_W);
}

// Step 7: the robot's dead time and inertia, by recursive prediction error.
struct RobotParameters { Vec n_W; int64_t second_order; Vec least, most; double drift, variance, believed; };
struct RobotState { PairLine line; double x, w; Vec s, sw; Fit<3> fit; };
template <class F> void fields(RobotParameters& a, F f) {
    FIELD(n_W) FIELD(second_order) FIELD(least) FIELD(most) FIELD(drift) FIELD(variance) FIELD(believed)
}
template <class F> void fields(RobotState& a, F f) { FIELD(line) FIELD(x) FIELD(w) FIELD(s) FIELD(sw) FIELD(fit) }

struct Middle { double speed, acceleration; };

inline Middle midpoint(double& x, double& w, double T1, double T2, double right, double dt) {
    const double middle = (right - x + 2.0 * T2 / dt * w) / (2.0 * T2 / dt + T1 + 0.5 * dt);
    const double acceleration = 2.0 * (middle - w) / dt;
    x = x + dt * middle;
    w = 2.0 * middle - w;
    return {middle, acceleration};
}

inline void advance(RobotState& x, bool second_order, double dt) {
    const auto [t_d, T1, T2] = x.fit.theta;
    const Reading now = read(x.line, t_d / dt, 0);
    if (!second_order) {
        x.x = now.value;
        x.s[0] = -now.step / dt;
        return;
    }
    const Reading before = read(x.line, t_d / dt + 1.0, 0);
    const Middle middle = midpoint(x.x, x.w, T1, T2, 0.5 * (now.value + before.value), dt);
    midpoint(x.s[0], x.sw[0], T1, T2, -0.5 * (now.step + before.step) / dt, dt);
    midpoint(x.s[1], x.sw[1], T1, T2, -middle.speed, dt);
    midpoint(x.s[2], x.sw[2], T1, T2, -middle.acceleration, dt);
}

inline void robot(Row& row, RobotState& x, const RobotParameters& p, double dt) {
    x.line.advance() = {row.u_twin, 0.0};
    advance(x, p.second_order, dt);
    const double measured = dot(p.n_W, row.p_C_W);
    Vec& theta = x.fit.theta;
    if (std::abs(measured - x.x) < p.believed) {
        const Vec old = theta;
        for (size_t i = 0; i < 3; ++i) x.fit.P[i][i] += p.drift * dt * theta[i] * theta[i];
        update(x.fit, x.s, measured - x.x, p.variance);
        for (size_t i = 0; i < 3; ++i) theta[i] = within(theta[i], p.least[i], p.most[i]);
        const Vec change = theta - old;
        x.x += dot(x.s, change);
        x.w += dot(x.sw, change);
    }
    row.t_d_hat = theta[0];
    row.T1_hat = theta[1];
    row.T2_hat = theta[2];
}

// Step 5, exit: the energy kept by the real frame determines the body's exit speed.
struct Pool { double weighted, weight; };
struct BalanceParameters { double force_noise, threshold, position_noise, sensor_delay; };
struct BalanceState {
    double e, at, last_at, last_rate, last_force, W, variance, v2, W_inside, at_exit, v_exit; int64_t begun;
    std::array<Pool, 2> pools;
};
template <class F> void fields(Pool& a, F f) { FIELD(weighted) FIELD(weight) }
template <class F> void fields(BalanceParameters& a, F f) {
    FIELD(force_noise) FIELD(threshold) FIELD(position_noise) FIELD(sensor_delay)
}
template <class F> void fields(BalanceState& a, F f) {
    FIELD(e) FIELD(at) FIELD(last_at) FIELD(last_rate) FIELD(last_force) FIELD(W) FIELD(variance) FIELD(v2) FIELD(W_inside)
    FIELD(at_exit) FIELD(v_exit) FIELD(begun) FIELD(pools)
}

inline double damping(const Frame& frame, double kept, double v2, double v_exit) {
    const double held = frame.model == LINEAR && kept > 0.0 ? 2.0 * v_exit * v_exit / frame.k : 0.0;
    return 2.0 * kept / (v2 + std::sqrt(v2 * v2 + held * kept));
}
inline double lost(double zeta) {
    constexpr double MOST_DAMPED = 0.7;
    if (zeta <= 0.0) return 2.0 * M_PI * zeta;
    zeta = std::min(zeta, MOST_DAMPED);
    const double root = std::sqrt(1.0 - zeta * zeta);
    return 1.0 - std::exp(-2.0 * zeta / root * (M_PI - std::atan2(2.0 * zeta * root, 1.0 - 2.0 * zeta * zeta)));
}
inline double pooled(const Pool& pool, double sensor_delay, double omega) {
    constexpr double MOST_FROM_DELAY = 0.003;
    if (pool.weight == 0.0) return 0.0;
    const double share = pool.weighted / pool.weight, from_delay = M_PI * omega * (0.03 * sensor_delay + 20e-6);
    return share > std::hypot(3.0 / std::sqrt(pool.weight), std::min(from_delay, MOST_FROM_DELAY)) ? std::min(share, 1.0) : 0.0;
}

inline void remember(const Row& row, BalanceState& x) {
    x.W_inside = x.W;
    x.at_exit = row.x_late;
    x.v_exit = row.v_late;
}

inline void count(const Row& row, BalanceState& x, const BalanceParameters& p, const Frame& frame, double dt) {
    if (!x.begun) {
        x.begun = 1;
        x.at = row.x_late;
        x.W = x.variance = x.v2 = 0.0;
        remember(row, x);
        return;
    }
    const double moved = row.x_late - x.last_at, step = row.F_n - x.last_force;
    x.W += 0.5 * (row.F_n + x.last_force) * moved;
    x.variance += squared((row.fresh ? p.force_noise : p.threshold) * moved) + squared(p.position_noise * step);
    x.v2 += v2_in_contact(frame, x.last_at, row.x_late, 0.5 * (row.v_late + x.last_rate));
    if (depth_in(frame, row.x_late) - left_at(frame, row.v_late) > std::abs(row.v_late) * dt) remember(row, x);
}

inline void settle(const Row& row, const BalanceState& x, Pool& pool, const Frame& frame) {
    constexpr double APART = 4.0, FLOOR = 3e-4;
    const double kinetic = 0.5 * row.m_eff * row.v_entry * row.v_entry;
    if (!(kinetic > 0.0 && x.begun && x.v2 > 0.0)) return;
    const double rest = depth_in(frame, x.at_exit) - left_at(frame, x.v_exit);
    const double kept = x.W_inside + stored(frame, depth_in(frame, x.at)) - stored(frame, std::max(0.0, rest));
    const double free = v2_in_space(frame, row.m_eff, row.v_entry);
    const double per_damping = std::min(std::max(free, x.v2 / APART), x.v2 * APART) / kinetic;
    const double share = lost(damping(frame, kept, x.v2, x.v_exit) * per_damping / (2.0 * M_PI));
    const double weight = 1.0 / std::max(x.variance * squared(per_damping / x.v2), FLOOR * FLOOR);
    pool.weighted += weight * share;
    pool.weight += weight;
}

inline void balance(Row& row, BalanceState& x, const BalanceParameters& p, double dt) {
    if (row.touch_event == BEGINS) {
        x.e = double(row.touch);
        x.begun = 0;
    } else if (row.touch != 0 || row.touch_event == ENDS) {
        count(row, x, p, frame_of(row, x.e), dt);
    }
    x.last_at = row.x_late;
    x.last_rate = row.v_late;
    x.last_force = row.F_n;
    if (row.touch_event == ENDS) {
        const Frame frame = frame_of(row, x.e);
        Pool& pool = x.pools[place_of(x.e)];
        settle(row, x, pool, frame);
        row.loss = pooled(pool, p.sensor_delay, std::sqrt(frame.k / row.m_eff));
    }
    row.W_measured = x.W;
}

// Step 6: the virtual clock.
struct ClockParameters { double guarded; Pair surfaces; };
struct ClockState { double slip; };
template <class F> void fields(ClockParameters& a, F f) { FIELD(guarded) FIELD(surfaces) }
template <class F> void fields(ClockState& a, F f) { FIELD(slip) }

inline void clock(Row& row, ClockState& x, const ClockParameters& p, double dt) {
    constexpr double IN_FLIGHT = 8.0, AFTER_TOUCH = 3.0, TOLERANCE = 1e-3, NOTICE = 0.070;
    x.slip += (1.0 - row.clock_rate) * dt;
    const size_t i = place_of(row.v_sim);
    const bool near = std::abs(row.x_sim - p.surfaces[i]) < TOLERANCE + NOTICE * std::abs(row.v_sim);
    const double aim = near && row.frame_known[i] != KNOWN && row.touch == 0 ? p.guarded : 1.0;
    const double most = (row.touch != 0 ? AFTER_TOUCH : IN_FLIGHT) * dt;
    const double change = within(aim - row.clock_rate, -most, most);
    row.clock_rate += change;
    row.clock_slope = change / dt;
    row.clock_aim = aim;
    row.time_slip = x.slip;
}

// Steps 4 and 5: the force on the simulated body, and the bound on the energy that a contact returns.
struct BodyParameters { Vec n_W; double mass, middle; };
struct BodyState { int64_t on; double e, energy, last_at; };
template <class F> void fields(BodyParameters& a, F f) { FIELD(n_W) FIELD(mass) FIELD(middle) }
template <class F> void fields(BodyState& a, F f) { FIELD(on) FIELD(e) FIELD(energy) FIELD(last_at) }

// At a speed of sqrt(square) the bodies have lost `lost` of the kinetic energy that they had at the entry.
struct Account { double square, lost, mass, inverse; };

inline double left_of(const Account& account, double kept) {
    return std::sqrt(std::max(0.0, account.square + 2.0 * (account.lost - kept) * account.inverse));
}
inline double bounded(double v_next, const Account& account, double dissipated, double e) {
    return v_next * e >= 0.0 ? v_next : -e * std::min(-v_next * e, left_of(account, dissipated));
}
inline double closed(double v, double v_entry, const Account& account, double loss, double e) {
    constexpr double CLOSED_BY_AT_MOST = 0.1;
    return -e * std::min(left_of(account, loss), std::sqrt(v * v + CLOSED_BY_AT_MOST * v_entry * v_entry));
}

inline void body(Row& row, BodyState& x, const BodyParameters& p, double dt) {
    const double step = row.clock_rate * dt, at = row.x_sim, v = row.v_sim;
    double e = double(row.touch);
    if (row.touch == 0) e = row.touch_event == ENDS ? x.e : at > p.middle ? 1.0 : -1.0;
    const Frame frame = frame_of(row, e);
    const double here = force(frame, at, v), late = force(frame, row.x_late, row.v_late);
    const double felt = row.touch != 0 || late > 0.0 ? row.F_n * e : 0.0, size = std::max(0.0, felt + here - late);

    const bool begins = (row.touch != 0 || size > 0.0) && (!x.on || e != x.e);
    if (begins) {
        x.on = 1;
        x.e = e;
        x.energy = 0.0;
        row.v_entry = std::abs(v);
    }
    row.v2_twin = begins || !x.on ? 0.0 : row.v2_twin + v2_in_contact(frame, x.last_at, at, v);
    x.last_at = at;
    const Account account = {row.v_entry * row.v_entry, 0.0, p.mass, 1.0 / p.mass};
    double v_next = v;
    if (x.on) {
        v_next = bounded(v - step * size * e / p.mass, account, frame.c * row.v2_twin, e);
        if (row.touch_event == ENDS) {
            const double before = v_next, loss = row.loss * 0.5 / account.inverse * squared(row.v_entry);
            v_next = closed(v, row.v_entry, account, std::max(0.0, loss), e);
            row.E_exit = 0.5 * p.mass * (v_next * v_next - before * before);
        } else if (row.touch_event == ABSENT) {
            v_next = e * left_of(account, 0.0);
        }
        x.energy = account.lost + 0.5 * p.mass * (account.square - v_next * v_next);
        if (row.touch == 0 && (row.touch_event != NOTHING || (size == 0.0 && here == 0.0 && late == 0.0))) x.on = 0;
    }
    const double total = p.mass * (v - v_next) / step;
    row.F_comp_W = (size * e) * p.n_W;
    row.F_alpha_W = (total - size * e) * p.n_W;
    row.F_hat_W = total * p.n_W;
    row.E_contact = x.on ? x.energy : 0.0;
    row.m_eff = p.mass;
}

struct Parameters {
    BiasParameters twin_bias; SenseParameters twin_sense; RobotParameters twin_robot; ContactParameters twin_contact;
    BalanceParameters twin_balance; ClockParameters twin_clock; BodyParameters twin_body; CommandParameters twin_command;
};
struct State {
    BiasState twin_bias; SenseState twin_sense; RobotState twin_robot; ContactState twin_contact; BalanceState twin_balance;
    ClockState twin_clock; BodyState twin_body; CommandState twin_command;
};
template <class Stages, class F> void stages(Stages& a, F f) {
    FIELD(twin_bias) FIELD(twin_sense) FIELD(twin_robot) FIELD(twin_contact) FIELD(twin_balance) FIELD(twin_clock)
    FIELD(twin_body) FIELD(twin_command)
}

// After the bias, which comes before contact detection.
inline void tick(Row& row, State& x, BodiesState& bodies, const Parameters& p, const BodiesParameters& bodies_p, double dt) {
    sense(row, x.twin_sense, p.twin_sense);
    robot(row, x.twin_robot, p.twin_robot, dt);
    contact(row, x.twin_contact, p.twin_contact, dt);
    balance(row, x.twin_balance, p.twin_balance, dt);
    clock(row, x.twin_clock, p.twin_clock, dt);
    body(row, x.twin_body, p.twin_body, dt);
    two_bodies(row, bodies, bodies_p, row.clock_rate * dt);
    command(row, x.twin_command, p.twin_command, dt);
}

}  // namespace twin
