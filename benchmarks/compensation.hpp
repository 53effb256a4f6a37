// Compensation of the contact force for the robot's delay; the same expressions as hilt.compensate.delay.
// Only `pida`, which the benchmark runs; `twin` has its own headers.
#pragma once
#include <algorithm>

#include "docking_row.hpp"

struct CompensateParameters {
    int64_t method; double inverse_masses; int64_t rotates;
    Vec p_AcmC_B; Mat inverse_inertia_A; Vec p_Tcm_W; Mat inverse_inertia_T;
};
struct CompensateState { int64_t on; Port observer; };
template <class F> void fields(CompensateParameters& a, F f) {
    FIELD(method) FIELD(inverse_masses) FIELD(rotates) FIELD(p_AcmC_B) FIELD(inverse_inertia_A) FIELD(p_Tcm_W)
    FIELD(inverse_inertia_T)
}
template <class F> void fields(CompensateState& a, F f) { FIELD(on) FIELD(observer) }

inline double effective_mass(const Row& row, const CompensateParameters& p, const Vec& e) {
    double inverse = p.inverse_masses;
    if (p.rotates) {
        const Vec turn_s = cross(p.p_AcmC_B, rotate_back(row.X_WB_sim.q, e)), turn_t = cross(row.p_C_des_W - p.p_Tcm_W, e);
        inverse += dot(turn_s, p.inverse_inertia_A * turn_s) + dot(turn_t, p.inverse_inertia_T * turn_t);
    }
    return 1.0 / inverse;
}

inline double energy_controller(Port& observer, double f, double damping, double v, double mass, double dt) {
    double v_next = v - dt * f / mass, alpha = 0.0;
    const double before = energy(observer);
    if (before + (f - damping) * 0.5 * (v + v_next) * dt < 0.0 && v <= 0.0) {
        v_next = -std::sqrt(std::max(0.0, v * v + 2.0 * (before - damping * v * dt) / mass));
        alpha = std::min(0.0, mass * (v - v_next) / dt - f);
        v_next = v - dt * (f + alpha) / mass;
    }
    book(observer, f + alpha - damping, 0.5 * (v + v_next), dt);
    return alpha;
}

inline void compensate(Row& row, CompensateState& x, const CompensateParameters& p, double dt) {
    Vec f{}, alpha{};
    row.m_eff = 0.0;
    if (row.in_contact) {
        if (!x.on) {
            x.observer = {};
            x.on = 1;
        }
        const Vec e = row.e_W, v = row.v_C_des_W;
        double size = dot(row.F_act_W, e);
        const double damping = row.identified ? std::max(row.c_hat, 0.0) : 0.0;
        if (row.identified) size += row.k_hat * dot(row.p_C_des_W - row.p_C_W, e) + row.c_hat * dot(v - row.v_C_W, e);
        size = std::max(0.0, size);
        f = size * e;
        row.m_eff = effective_mass(row, p, e);
        const double v_n = dot(v, e);
        alpha = energy_controller(x.observer, size, damping * v_n, v_n, row.m_eff, dt) * e;
    } else {
        x.on = 0;
    }
    row.F_comp_W = f;
    row.F_alpha_W = alpha;
    row.F_hat_W = f + alpha;
    row.E_contact = energy(x.observer);
}
