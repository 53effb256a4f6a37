// Two free bodies and the motion of one as seen from the other; the same expressions as hilt.dynamics.two_bodies.
#pragma once
#include "docking_row.hpp"
#include "momentum_rule.hpp"

struct BodyFigures { double inverse_mass; Mat inverse_inertia; Vec assembly; Quat q_assembly; };
struct BodiesParameters { int64_t rotates; Vec apart_N, tip_B; BodyFigures servicer, target; };
template <class F> void fields(BodyFigures& a, F f) {
    FIELD(inverse_mass) FIELD(inverse_inertia) FIELD(assembly) FIELD(q_assembly)
}
template <class F> void fields(BodiesParameters& a, F f) {
    FIELD(rotates) FIELD(apart_N) FIELD(tip_B) FIELD(servicer) FIELD(target)
}

struct Body { Vec p; Quat q; Vec P, L, w; };
struct BodiesState { Body servicer, target; Port integrator, rotation; };
template <class F> void fields(Body& a, F f) { FIELD(p) FIELD(q) FIELD(P) FIELD(L) FIELD(w) }
template <class F> void fields(BodiesState& a, F f) { FIELD(servicer) FIELD(target) FIELD(integrator) FIELD(rotation) }

inline Vec point_on_A(const BodiesState& x, const BodiesParameters& p, const Vec& at_B) {
    return x.servicer.p + rotate(x.servicer.q, p.servicer.assembly + rotate(p.servicer.q_assembly, at_B));
}

inline Vec velocity_in_W(const BodiesState& x, const BodiesParameters& p, const Vec& at_N, const Quat& q_NW, const Vec& w_A,
                         const Vec& w_T) {
    const Vec v_A = p.servicer.inverse_mass * x.servicer.P + cross(w_A, at_N - x.servicer.p);
    const Vec v_T = p.target.inverse_mass * x.target.P + cross(w_T, at_N - x.target.p);
    return rotate_back(q_NW, v_A - v_T);
}

inline void relative_position(Row& row, const BodiesState& x, const BodiesParameters& p) {
    row.X_WB_sim.p = rotate_back(p.target.q_assembly, x.servicer.p - x.target.p + p.apart_N);
    const Vec v_A = p.servicer.inverse_mass * x.servicer.P, v_T = p.target.inverse_mass * x.target.P;
    row.V_WB_sim.v = rotate_back(p.target.q_assembly, v_A - v_T);
}

inline void relative_motion(Row& row, const BodiesState& x, const BodiesParameters& p) {
    const Quat q_NW = x.target.q * p.target.q_assembly, q_NB = x.servicer.q * p.servicer.q_assembly;
    const Vec origin = x.target.p + rotate(x.target.q, p.target.assembly), o_B = point_on_A(x, p, {});
    row.X_WB_sim = {rotate_back(q_NW, o_B - origin), inverse(q_NW) * q_NB};
    row.V_WB_sim = {velocity_in_W(x, p, o_B, q_NW, x.servicer.w, x.target.w), rotate_back(q_NW, x.servicer.w - x.target.w)};
}

inline void publish(Row& row, const BodiesState& x, const BodiesParameters& p) {
    const Vec v_A = p.servicer.inverse_mass * x.servicer.P, v_T = p.target.inverse_mass * x.target.P;
    row.X_NA = {x.servicer.p, x.servicer.q};
    row.X_NT = {x.target.p, x.target.q};
    row.V_NA.v = v_A;
    row.V_NT.v = v_T;
    row.P_N = x.servicer.P + x.target.P;
    row.H = 0.5 * (dot(x.servicer.P, v_A) + dot(x.target.P, v_T));
    row.W_integrator = x.integrator;
    if (p.rotates) {
        row.V_NA.w = x.servicer.w;
        row.V_NT.w = x.target.w;
        row.L_N = cross(x.servicer.p, x.servicer.P) + cross(x.target.p, x.target.P) + (x.servicer.L + x.target.L);
        row.H_rot = 0.5 * (dot(x.servicer.L, x.servicer.w) + dot(x.target.L, x.target.w));
        row.W_rotation = x.rotation;
    }
}

inline void fly(Body& body, const BodyFigures& p, Port& made, double dt) {
    body.p = body.p + (dt * p.inverse_mass) * body.P;
    const FreeTurn next = free_rule(body.q, body.L, body.w, p.inverse_inertia, dt);
    body.q = next.q;
    body.w = next.w_W;
    book(made, next.gain, 1.0, 1.0);
}

// The mean velocity of the tip over the kick.
inline Vec kick(BodiesState& x, const BodiesParameters& p, const Vec& force, double dt) {
    const Quat q_NW = x.target.q * p.target.q_assembly;
    const Vec tip_N = point_on_A(x, p, p.tip_B), before = velocity_in_W(x, p, tip_N, q_NW, x.servicer.w, x.target.w);
    const Vec J = dt * rotate(q_NW, force);
    x.servicer.L = x.servicer.L - cross(tip_N - x.servicer.p, J);
    x.target.L = x.target.L + cross(tip_N - x.target.p, J);
    x.servicer.P = x.servicer.P - J;
    x.target.P = x.target.P + J;
    x.servicer.w = angular_velocity(x.servicer.q, x.servicer.L, p.servicer.inverse_inertia);
    x.target.w = angular_velocity(x.target.q, x.target.L, p.target.inverse_inertia);
    return 0.5 * (before + velocity_in_W(x, p, tip_N, q_NW, x.servicer.w, x.target.w));
}

inline Vec kick_and_slide(Row& row, BodiesState& x, const BodiesParameters& p, const Vec& force, double dt) {
    const Vec before = row.V_WB_sim.v, J = dt * rotate(p.target.q_assembly, force);
    x.servicer.P = x.servicer.P - J;
    x.target.P = x.target.P + J;
    x.servicer.p = x.servicer.p + (dt * p.servicer.inverse_mass) * x.servicer.P;
    x.target.p = x.target.p + (dt * p.target.inverse_mass) * x.target.P;
    relative_position(row, x, p);
    return 0.5 * (before + row.V_WB_sim.v);
}

inline void two_bodies(Row& row, BodiesState& x, const BodiesParameters& p, double dt) {
    publish(row, x, p);
    const Vec force = row.F_hat_W;
    const bool acts = force != Vec{};
    Vec mean{};
    if (p.rotates) {
        if (acts) mean = kick(x, p, force, dt);
        fly(x.servicer, p.servicer, x.rotation, dt);
        fly(x.target, p.target, x.rotation, dt);
        relative_motion(row, x, p);
    } else {
        mean = kick_and_slide(row, x, p, force, dt);
    }
    if (acts) {
        const Vec tip = p.rotates ? rotate(row.X_WB_sim.q, p.tip_B) : p.tip_B, way = row.X_WB_sim.p + tip - row.p_C_des_W;
        book(x.integrator, dot(force, way) - dt * dot(force, mean), 1.0, 1.0);
    }
}
