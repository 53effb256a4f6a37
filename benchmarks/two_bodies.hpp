// Two free bodies and the motion of one as seen from the other; the same expressions as hilt.dynamics.two_bodies.
#pragma once
#include "docking_row.hpp"
#include "momentum_rule.hpp"

struct BodyFigures { double inverse_mass; Mat inverse_inertia; Vec assembly; Quat q_assembly; };
struct BodiesParameters { int64_t rotates; Vec apart_N, tip_U; BodyFigures A, B; };
template <class F> void fields(BodyFigures& a, F f) {
    FIELD(inverse_mass) FIELD(inverse_inertia) FIELD(assembly) FIELD(q_assembly)
}
template <class F> void fields(BodiesParameters& a, F f) { FIELD(rotates) FIELD(apart_N) FIELD(tip_U) FIELD(A) FIELD(B) }

struct Body { Vec p; Quat q; Vec P, L, w; };
struct BodiesState { Body A, B; Port integrator, rotation; };
template <class F> void fields(Body& a, F f) { FIELD(p) FIELD(q) FIELD(P) FIELD(L) FIELD(w) }
template <class F> void fields(BodiesState& a, F f) { FIELD(A) FIELD(B) FIELD(integrator) FIELD(rotation) }

inline Vec point_on_A(const BodiesState& x, const BodiesParameters& p, const Vec& at_U) {
    return x.A.p + rotate(x.A.q, p.A.assembly + rotate(p.A.q_assembly, at_U));
}

inline Vec velocity_in_W(const BodiesState& x, const BodiesParameters& p, const Vec& at_N, const Quat& q_NW, const Vec& w_A,
                         const Vec& w_B) {
    const Vec v_A = p.A.inverse_mass * x.A.P + cross(w_A, at_N - x.A.p);
    const Vec v_B = p.B.inverse_mass * x.B.P + cross(w_B, at_N - x.B.p);
    return rotate_back(q_NW, v_A - v_B);
}

inline void relative_position(Row& row, const BodiesState& x, const BodiesParameters& p) {
    row.X_WB_sim.p = rotate_back(p.B.q_assembly, x.A.p - x.B.p + p.apart_N);
    row.V_WB_sim.v = rotate_back(p.B.q_assembly, p.A.inverse_mass * x.A.P - p.B.inverse_mass * x.B.P);
}

inline void relative_motion(Row& row, const BodiesState& x, const BodiesParameters& p) {
    const Quat q_NW = x.B.q * p.B.q_assembly, q_NU = x.A.q * p.A.q_assembly;
    const Vec origin = x.B.p + rotate(x.B.q, p.B.assembly), o_U = point_on_A(x, p, {});
    row.X_WB_sim = {rotate_back(q_NW, o_U - origin), inverse(q_NW) * q_NU};
    row.V_WB_sim = {velocity_in_W(x, p, o_U, q_NW, x.A.w, x.B.w), rotate_back(q_NW, x.A.w - x.B.w)};
}

inline void publish(Row& row, const BodiesState& x, const BodiesParameters& p) {
    const Vec v_A = p.A.inverse_mass * x.A.P, v_B = p.B.inverse_mass * x.B.P;
    row.X_NA = {x.A.p, x.A.q};
    row.X_NB = {x.B.p, x.B.q};
    row.V_NA.v = v_A;
    row.V_NB.v = v_B;
    row.P_N = x.A.P + x.B.P;
    row.H = 0.5 * (dot(x.A.P, v_A) + dot(x.B.P, v_B));
    row.W_integrator = x.integrator;
    if (p.rotates) {
        row.V_NA.w = x.A.w;
        row.V_NB.w = x.B.w;
        row.L_N = cross(x.A.p, x.A.P) + cross(x.B.p, x.B.P) + (x.A.L + x.B.L);
        row.H_rot = 0.5 * (dot(x.A.L, x.A.w) + dot(x.B.L, x.B.w));
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
    const Quat q_NW = x.B.q * p.B.q_assembly;
    const Vec tip_N = point_on_A(x, p, p.tip_U), before = velocity_in_W(x, p, tip_N, q_NW, x.A.w, x.B.w);
    const Vec J = dt * rotate(q_NW, force);
    x.A.L = x.A.L - cross(tip_N - x.A.p, J);
    x.B.L = x.B.L + cross(tip_N - x.B.p, J);
    x.A.P = x.A.P - J;
    x.B.P = x.B.P + J;
    x.A.w = angular_velocity(x.A.q, x.A.L, p.A.inverse_inertia);
    x.B.w = angular_velocity(x.B.q, x.B.L, p.B.inverse_inertia);
    return 0.5 * (before + velocity_in_W(x, p, tip_N, q_NW, x.A.w, x.B.w));
}

inline Vec kick_and_slide(Row& row, BodiesState& x, const BodiesParameters& p, const Vec& force, double dt) {
    const Vec before = row.V_WB_sim.v, J = dt * rotate(p.B.q_assembly, force);
    x.A.P = x.A.P - J;
    x.B.P = x.B.P + J;
    x.A.p = x.A.p + (dt * p.A.inverse_mass) * x.A.P;
    x.B.p = x.B.p + (dt * p.B.inverse_mass) * x.B.P;
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
        fly(x.A, p.A, x.rotation, dt);
        fly(x.B, p.B, x.rotation, dt);
        relative_motion(row, x, p);
    } else {
        mean = kick_and_slide(row, x, p, force, dt);
    }
    if (acts) {
        const Vec tip = p.rotates ? rotate(row.X_WB_sim.q, p.tip_U) : p.tip_U, way = row.X_WB_sim.p + tip - row.p_C_des_W;
        book(x.integrator, dot(force, way) - dt * dot(force, mean), 1.0, 1.0);
    }
}
