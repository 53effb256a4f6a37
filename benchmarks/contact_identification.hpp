// Detection of a contact, and its stiffness and damping; the same expressions as hilt.sense.contact and
// hilt.compensate.identify. Only the filter `absolute`, which the benchmark runs.
#pragma once
#include <algorithm>

#include "docking_row.hpp"

struct SenseParameters { Vec tip_B; Quat q_WS; int64_t rotates; double threshold, sensor_delay, share; };
struct IdentifyParameters {
    double threshold; int64_t skipped; double mass, stiffness, position_noise, velocity_noise, force_variance, P_k, P_c;
    double b_deviation, sensor_delay, doubt;
};
template <class F> void fields(SenseParameters& a, F f) {
    FIELD(tip_B) FIELD(q_WS) FIELD(rotates) FIELD(threshold) FIELD(sensor_delay) FIELD(share)
}
template <class F> void fields(IdentifyParameters& a, F f) {
    FIELD(threshold) FIELD(skipped) FIELD(mass) FIELD(stiffness) FIELD(position_noise) FIELD(velocity_noise)
    FIELD(force_variance) FIELD(P_k) FIELD(P_c) FIELD(b_deviation) FIELD(sensor_delay) FIELD(doubt)
}

struct SenseState { Vec f, slope; int64_t started; };
struct Surface { int64_t known; Vec e; double k, c; Mat P; };
struct IdentifyState {
    int64_t on, samples; double peak; int64_t surface; std::array<Surface, 2> surfaces; double b; Vec reference, F, position, v;
};
template <class F> void fields(SenseState& a, F f) { FIELD(f) FIELD(slope) FIELD(started) }
template <class F> void fields(Surface& a, F f) { FIELD(known) FIELD(e) FIELD(k) FIELD(c) FIELD(P) }
template <class F> void fields(IdentifyState& a, F f) {
    FIELD(on) FIELD(samples) FIELD(peak) FIELD(surface) FIELD(surfaces) FIELD(b) FIELD(reference) FIELD(F) FIELD(position)
    FIELD(v)
}

inline double square(double a) { return a * a; }

inline void contact_sense(Row& row, SenseState& x, const SenseParameters& p, double dt) {
    Vec tip = p.tip_B, tip_des = p.tip_B, v = row.V_WB_meas.v, v_des = row.V_WB_sim.v;
    Vec f = {row.F_So_S.f[0], 0.0, 0.0};
    if (p.rotates) {
        tip = rotate(row.X_WB_meas.q, tip);
        tip_des = rotate(row.X_WB_sim.q, tip_des);
        v = v + cross(row.V_WB_meas.w, tip);
        v_des = v_des + cross(row.V_WB_sim.w, tip_des);
        f = rotate(p.q_WS, row.F_So_S.f);
    }
    row.p_C_W = row.X_WB_meas.p + tip;
    row.v_C_W = v;
    row.p_C_des_W = row.X_WB_sim.p + tip_des;
    row.v_C_des_W = v_des;

    const Vec raw = x.started ? (1.0 / dt) * (f - x.f) : Vec{}, slope = x.slope + p.share * (raw - x.slope);
    row.F_mea_W = f - row.F_bias_W;
    row.F_act_W = f + p.sensor_delay * slope;
    x.f = f;
    x.slope = slope;
    x.started = 1;

    const double size = std::sqrt(dot(f, f));
    row.in_contact = size > (row.in_contact ? 0.5 : 1.0) * p.threshold;
    row.e_W = row.in_contact ? (1.0 / size) * f : Vec{};
}

inline void update(Surface& surface, double& b, double z, double dp, double v, double variance) {
    Mat& P = surface.P;
    const double g0 = P[0][0] * dp + P[0][1] * v + P[0][2];
    const double g1 = P[1][0] * dp + P[1][1] * v + P[1][2];
    const double g2 = P[2][0] * dp + P[2][1] * v + P[2][2];
    const double s = dp * g0 + v * g1 + g2 + variance, y = (z - surface.k * dp - surface.c * v - b) / s;
    surface.k += g0 * y;
    surface.c += g1 * y;
    b += g2 * y;
    P[0][0] -= g0 * g0 / s;
    P[1][1] -= g1 * g1 / s;
    P[2][2] -= g2 * g2 / s;
    P[1][0] = P[0][1] -= g0 * g1 / s;
    P[2][0] = P[0][2] -= g0 * g2 / s;
    P[2][1] = P[1][2] -= g1 * g2 / s;
}

inline int choose_surface(const IdentifyState& x, const Vec& e) {
    for (int n = 0; n < 2; ++n)
        if (x.surfaces[n].known && dot(e, x.surfaces[n].e) > 0.5) return n;
    for (int n = 0; n < 2; ++n)
        if (!x.surfaces[n].known) return n;
    return 1;
}

inline void begin(IdentifyState& x, const IdentifyParameters& p, const Vec& e, const Vec& position, double force,
                  double speed) {
    x.on = 1;
    x.samples = 0;
    x.peak = 0.0;
    x.surface = choose_surface(x, e);
    Surface& surface = x.surfaces[x.surface];
    const Surface& other = x.surfaces[1 - x.surface];
    Mat& P = surface.P;
    if (!surface.known) {
        surface.known = 1;
        P[0][0] = p.P_k;
        P[1][1] = p.P_c;
        P[0][1] = P[1][0] = 0.0;
        if (other.known) {
            surface.k = other.k;
            P[0][0] = square(0.5 * other.k);
        }
    }
    surface.e = e;
    P[0][0] += square(0.1 * surface.k);
    x.b = force - surface.c * speed;
    P[2][0] = P[0][2] = -speed * P[0][1];
    P[2][1] = P[1][2] = -speed * P[1][1];
    P[2][2] = speed * speed * P[1][1] + square(p.b_deviation + p.stiffness * std::abs(speed) * p.sensor_delay);
    x.reference = position;
}

inline void identify(Row& row, IdentifyState& x, const IdentifyParameters& p) {
    if (!row.in_contact) {
        x.on = 0;
        row.identified = 0;
        return;
    }
    const Vec e = row.e_W, position = row.p_C_W, v = row.v_C_W;
    const double force = dot(row.F_act_W, e);
    if (!x.on) begin(x, p, e, position, force, dot(v, e));
    Surface& surface = x.surfaces[x.surface];
    x.samples += 1;
    x.peak = std::max(x.peak, force);
    const double least = std::max(p.threshold, 0.1 * x.peak);
    if (force > least && dot(x.F, e) > least && x.samples > p.skipped) {
        const double stiffness = std::max(surface.k, p.stiffness);
        double variance = p.force_variance + square(stiffness * p.position_noise) + square(surface.c * p.velocity_noise);
        variance += square(1e-3 * x.peak);
        update(surface, x.b, force, dot(position - x.reference, e), dot(v, e), variance);
    }
    x.F = row.F_act_W;
    x.position = position;
    x.v = v;

    row.k_hat = surface.k;
    row.k_var = surface.P[0][0];
    row.c_var = surface.P[1][1];
    row.identified = surface.k > 0.0 && row.k_var < square(p.doubt * surface.k);
    const double critical = 2.0 * std::sqrt(std::max(surface.k, 0.0) * p.mass), deviation = std::sqrt(std::max(row.c_var, 0.0));
    const bool significant = std::abs(surface.c) > std::max(3.0 * deviation, 2e-3 * critical) && deviation < 1e-2 * critical;
    row.c_hat = significant ? surface.c : 0.0;
}
