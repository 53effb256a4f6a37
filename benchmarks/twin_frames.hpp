// The twin's frames: their stiffness and damping, and when a contact with them begins and ends; the same expressions as model, fit,
// give_way and contact of hilt.systems.docking.twin.
#pragma once
#include <algorithm>

#include "docking_row.hpp"

namespace twin {

enum Model { LINEAR, HERTZ };
enum Knowledge { UNSEEN, SEEN, KNOWN };
enum Event { NOTHING, BEGINS, ENDS, ABSENT, CAME_TO_NOTHING };

inline double squared(double a) { return a * a; }
inline double within(double value, double least, double most) { return std::min(std::max(value, least), most); }
inline size_t place_of(double e) { return e > 0.0 ? 0 : 1; }  // front frame first

// A spring on side e, linear with damping or after Hertz; without force if it was never touched.
struct Frame { double e; int64_t known, model; double k, c, q, surface; };

inline Frame frame_of(const Row& row, double e) {
    const size_t i = place_of(e);
    return {e, row.frame_known[i], row.frame_model[i], row.frame_k[i], row.frame_c[i], row.frame_q[i], row.frame_s[i]};
}
inline double force(const Frame& frame, double x, double v) {
    const double depth = (x - frame.surface) * frame.e;
    if (frame.known == UNSEEN || !(depth > 0.0)) return 0.0;
    if (frame.model == HERTZ) {
        const double root = std::sqrt(frame.q * depth);
        return root * root * root;
    }
    return std::max(0.0, frame.k * depth + frame.c * v * frame.e);
}
inline double slope(const Frame& frame, double x) {
    const double depth = (x - frame.surface) * frame.e;
    if (frame.known == UNSEEN || !(depth > 0.0)) return 0.0;
    return frame.model == HERTZ ? 1.5 * frame.q * std::sqrt(frame.q * depth) : frame.k;
}
inline double force_rate(const Frame& frame, double x, double v, double a) {
    const double e = frame.e, depth = (x - frame.surface) * e;
    if (frame.known == UNSEEN || !(depth > 0.0)) return 0.0;
    if (frame.model == HERTZ) return 1.5 * frame.q * std::sqrt(frame.q * depth) * v * e;
    return frame.k * depth + frame.c * v * e > 0.0 ? (frame.k * v + frame.c * a) * e : 0.0;
}

// Where a motion with velocity v loses contact, and the part of v² dt of a step that was in contact.
inline double depth_in(const Frame& frame, double x) {
    const double depth = (x - frame.surface) * frame.e;
    return frame.known != UNSEEN && depth > 0.0 ? depth : 0.0;
}
inline double left_at(const Frame& frame, double v) {
    return frame.model == LINEAR && frame.known != UNSEEN ? std::max(0.0, -frame.c * v * frame.e / frame.k) : 0.0;
}
inline double v2_in_contact(const Frame& frame, double last_at, double at, double v) {
    const double least = left_at(frame, v);
    const double now = std::max(depth_in(frame, at), least), before = std::max(depth_in(frame, last_at), least);
    return std::max(0.0, v * frame.e * (now - before));
}
inline double stored(const Frame& frame, double depth) {
    if (frame.model == HERTZ) {
        const double root = std::sqrt(frame.q * depth);
        return 0.4 * root * root * root * depth;
    }
    return 0.5 * frame.k * depth * depth;
}
inline double v2_in_space(const Frame& frame, double mass, double v) {
    constexpr double HERTZ_INTEGRAL = 0.81757644;
    if (frame.model == HERTZ)
        return 2.0 * HERTZ_INTEGRAL * v * std::pow(1.25 * mass * v * v / (frame.q * std::sqrt(frame.q)), 0.4);
    return 0.5 * M_PI * v * v * std::sqrt(mass / frame.k);
}

// Recursive least squares.
template <size_t N> struct Fit { std::array<double, N> theta; std::array<std::array<double, N>, N> P; };
template <class F, size_t N> void fields(Fit<N>& a, F f) { FIELD(theta) FIELD(P) }

template <size_t N> void update(Fit<N>& fit, const std::array<double, N>& h, double y, double R) {
    std::array<double, N> g;
    for (size_t i = 0; i < N; ++i) {
        g[i] = fit.P[i][0] * h[0];
        for (size_t j = 1; j < N; ++j) g[i] += fit.P[i][j] * h[j];
    }
    double s = h[0] * g[0];
    for (size_t i = 1; i < N; ++i) s += h[i] * g[i];
    s += R;
    for (size_t i = 0; i < N; ++i) {
        fit.theta[i] += g[i] * y / s;
        fit.P[i][i] -= g[i] * g[i] / s;
        for (size_t j = i + 1; j < N; ++j) fit.P[j][i] = fit.P[i][j] -= g[i] * g[j] / s;
    }
}

struct FrameState { int64_t known, model; Fit<3> line; Fit<2> hertz; double line_surface, hertz_surface, c_used; };
struct ContactState {
    std::array<FrameState, 2> frames; double at; int64_t samples; double peak, deepest; int64_t was_known;
    double surface_before, line_before, hertz_before, line_square, hertz_square;
};
struct ContactParameters {
    double threshold, mass, position_noise, force_variance, offset_deviation, stiffness, least, most, P_k, P_c, hertz, P_q;
    double middle;
};
template <class F> void fields(FrameState& a, F f) {
    FIELD(known) FIELD(model) FIELD(line) FIELD(hertz) FIELD(line_surface) FIELD(hertz_surface) FIELD(c_used)
}
template <class F> void fields(ContactState& a, F f) {
    FIELD(frames) FIELD(at) FIELD(samples) FIELD(peak) FIELD(deepest) FIELD(was_known) FIELD(surface_before)
    FIELD(line_before) FIELD(hertz_before) FIELD(line_square) FIELD(hertz_square)
}
template <class F> void fields(ContactParameters& a, F f) {
    FIELD(threshold) FIELD(mass) FIELD(position_noise) FIELD(force_variance) FIELD(offset_deviation) FIELD(stiffness)
    FIELD(least) FIELD(most) FIELD(P_k) FIELD(P_c) FIELD(hertz) FIELD(P_q) FIELD(middle)
}

inline double surface_of(const FrameState& frame) {
    return frame.model == HERTZ ? frame.hertz_surface : frame.line_surface;
}

struct AsKnown { bool same; double by_line, by_hertz; };

inline AsKnown as_known(const ContactState& x, const FrameState& frame, const ContactParameters& p, double e, double at,
                        double rate, double F) {
    const double by_line = frame.line.theta[0] * (at - x.line_before) * e;
    const double by_hertz = frame.hertz.theta[0] * (at - x.hertz_before) * e;
    const double predicted =
        frame.model == LINEAR ? by_line + frame.c_used * rate * e : std::pow(std::max(by_hertz, 0.0), 1.5);
    return {squared(F - predicted) <= 25.0 * squared(p.offset_deviation), by_line, by_hertz};
}

// The first sample.
inline void meet(ContactState& x, FrameState& frame, const ContactParameters& p, double e, double at, double rate, double F) {
    x.was_known = frame.known;
    x.surface_before = surface_of(frame);
    x.line_before = frame.line_surface;
    x.hertz_before = frame.hertz_surface;
    x.samples = 0;
    x.peak = x.line_square = x.hertz_square = 0.0;
    x.deepest = at * e;
    auto& [theta, P] = frame.line;
    auto& [theta_H, P_H] = frame.hertz;
    if (frame.known == UNSEEN) {
        frame.known = SEEN;
        frame.c_used = 0.0;
        theta = {p.stiffness, 0.0, theta[2]};
        theta_H[0] = p.hertz;
        P[0][0] = p.P_k;
        P[1][1] = p.P_c;
        P[0][1] = P[1][0] = 0.0;
        P_H[0][0] = p.P_q;
    } else if (as_known(x, frame, p, e, at, rate, F).same) {
        return;
    }
    frame.line_surface = at - e * (F - frame.c_used * rate * e) / theta[0];
    frame.hertz_surface = at - e * std::pow(F, 2.0 / 3.0) / theta_H[0];
}

// The second sample.
inline void begin(ContactState& x, FrameState& frame, const ContactParameters& p, double e, double at, double rate, double F) {
    x.at = at;
    auto& [theta, P] = frame.line;
    auto& [theta_H, P_H] = frame.hertz;
    double b = F - frame.c_used * rate * e, b_H = std::pow(std::max(F, 0.0), 2.0 / 3.0);
    if (x.was_known != UNSEEN) {
        P[0][0] += squared(0.1 * theta[0]);
        P_H[0][0] += squared(0.1 * theta_H[0]);
        const AsKnown known = as_known(x, frame, p, e, at, rate, F);
        const bool linear = frame.model == LINEAR;
        if (known.same) (linear ? b : b_H) = linear ? known.by_line : known.by_hertz;
    }
    P[0][2] = P[1][2] = P[2][0] = P[2][1] = 0.0;
    P[2][2] = squared(p.offset_deviation);
    theta[2] = b;
    P_H[0][1] = P_H[1][0] = 0.0;
    P_H[1][1] = squared(2.0 / 3.0 / std::pow(std::max(F, p.threshold), 1.0 / 3.0) * p.offset_deviation);
    theta_H[1] = b_H;
}

inline void learn(ContactState& x, FrameState& frame, const ContactParameters& p, double e, double at, double rate, double F,
                  bool fresh, double dt) {
    constexpr double CHOOSE_AFTER = 0.016, WATCHED_OVER = 0.012, CLEARLY = 0.4, DAMPING_OF_CRITICAL = 0.004;
    if (x.samples == 0 && !fresh) return;
    if (x.samples == 0) begin(x, frame, p, e, at, rate, F);
    x.samples += 1;
    x.peak = std::max(x.peak, F);
    x.deepest = std::max(x.deepest, at * e);
    if (!fresh || !(F > std::max(0.5 * p.threshold, 0.05 * x.peak))) return;
    Vec& theta = frame.line.theta;
    auto& theta_H = frame.hertz.theta;
    const double depth = (at - x.at) * e, v = rate * e;
    const double R = p.force_variance + squared(theta[0] * p.position_noise) + squared(1e-3 * x.peak);
    const double y = F - (theta[0] * depth + theta[1] * v + theta[2]);
    const double root = std::pow(F, 1.0 / 3.0), predicted = theta_H[0] * depth + theta_H[1];
    const double y_H = F - std::pow(std::max(predicted, 0.0), 1.5);
    update(frame.line, {depth, v, 1.0}, y, R);
    update(frame.hertz, {depth, 1.0}, root * root - predicted, R * squared(2.0 / 3.0 / root));
    theta[0] = within(theta[0], p.least, p.most);
    theta_H[0] = within(theta_H[0], 0.1 * p.hertz, 10.0 * p.hertz);
    frame.line_surface = x.at - e * theta[2] / theta[0];
    frame.hertz_surface = x.at - e * theta_H[1] / theta_H[0];
    const double c = theta[1], critical = std::sqrt(theta[0] * p.mass);
    const double c_deviation = std::sqrt(std::max(frame.line.P[1][1], 0.0));
    frame.c_used = c > std::max(3.0 * c_deviation, DAMPING_OF_CRITICAL * critical) ? c : 0.0;

    const double share = dt / WATCHED_OVER;
    x.line_square += share * (y * y - x.line_square);
    x.hertz_square += share * (y_H * y_H - x.hertz_square);
    if (double(x.samples) * dt > CHOOSE_AFTER) {
        if (x.hertz_square < CLEARLY * x.line_square && x.line_square > 2.0 * R) frame.model = HERTZ;
        else if (x.line_square < CLEARLY * x.hertz_square && x.hertz_square > 2.0 * R) frame.model = LINEAR;
    }
}

inline void end(const ContactState& x, FrameState& frame, double e) {
    constexpr double MOVED = 0.08;
    const double surface = surface_of(frame);
    const bool moved = std::abs(surface - x.surface_before) > MOVED * (x.deepest - surface * e);
    frame.known = x.was_known != UNSEEN && moved ? SEEN : KNOWN;
}

inline void publish(Row& row, const FrameState& frame, size_t i) {
    row.frame_known[i] = frame.known;
    row.frame_model[i] = frame.model;
    row.frame_k[i] = frame.line.theta[0];
    row.frame_c[i] = frame.c_used;
    row.frame_q[i] = frame.hertz.theta[0];
    row.frame_s[i] = surface_of(frame);
}

// What happens to the contact with the frame on side e.
inline Event event_of(const Row& row, const ContactState& x, const ContactParameters& p, double e, const Frame& shown) {
    const double F = row.F_n, size = std::abs(F), predicted = force(shown, row.x_late, row.v_late);
    if (row.touch != 0) {
        const bool inside = predicted > 0.0, leaving = row.v_sim * e < 0.0;
        const bool over = !inside && size < p.threshold && force(shown, row.x_sim, row.v_sim) == 0.0;
        if (F * e < -p.threshold || (!leaving && !inside && size < 0.5 * p.threshold)) return CAME_TO_NOTHING;
        return leaving && over ? x.samples == 0 ? CAME_TO_NOTHING : ENDS : NOTHING;
    }
    if (size > p.threshold && row.fresh) return BEGINS;
    const double least = 4.0 * p.threshold + 0.15 * std::sqrt(shown.k * p.mass) * std::abs(row.v_late);
    return predicted > least && F * e < 0.3 * predicted ? ABSENT : NOTHING;
}

inline void contact(Row& row, ContactState& x, const ContactParameters& p, double dt) {
    const double F = row.F_n, at = row.x_late, rate = row.v_late;
    const bool felt = std::abs(F) > p.threshold && row.fresh;
    const double e = row.touch != 0 ? double(row.touch) : (felt ? F > 0.0 : at > p.middle) ? 1.0 : -1.0;
    FrameState& frame = x.frames[place_of(e)];
    const Event event = event_of(row, x, p, e, frame_of(row, e));
    const bool touched = row.touch != 0;
    if (event == BEGINS) {
        row.touch = int64_t(e);
        meet(x, frame, p, e, at, rate, F * e);
    }
    if (event == CAME_TO_NOTHING && x.samples == 0) {
        frame.known = x.was_known;
        frame.line_surface = x.line_before;
        frame.hertz_surface = x.hertz_before;
    }
    if (event == ENDS) end(x, frame, e);
    if (event == ABSENT) frame.known = UNSEEN;
    if (event == ENDS || event == CAME_TO_NOTHING) row.touch = 0;
    if (row.touch != 0 && touched) learn(x, frame, p, e, at, rate, F * e, row.fresh, dt);
    if (row.touch != 0 || event != NOTHING) publish(row, frame, place_of(e));
    row.touch_event = event;

    const FrameState& last = x.frames[place_of(double(row.touch))];
    row.k_hat = last.line.theta[0];
    row.c_hat = last.c_used;
    row.k_var = last.line.P[0][0];
    row.c_var = last.line.P[1][1];
    row.identified = row.touch != 0 && row.k_var < squared(0.2 * row.k_hat);
}

}  // namespace twin
