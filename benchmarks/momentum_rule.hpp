// Rotation of a free body with momentum as the state; the same expressions as hilt.dynamics.rotation.
#pragma once
#include "rotations.hpp"

inline Vec angular_velocity(const Quat& q, const Vec& L_W, const Mat& inverse_inertia) {
    return rotate(q, inverse_inertia * rotate_back(q, L_W));
}

struct Turn { Quat q; Vec L_W, w_W, turn_B; double gain; };

inline Turn momentum_rule(const Quat& q, const Vec& L_W, const Vec& w_before, const Vec& tau_W, const Mat& inverse_inertia,
                          double dt) {
    const Vec L_B = rotate_back(q, L_W + (0.5 * dt) * tau_W);
    const Vec L_half = L_B - (0.5 * dt) * cross(inverse_inertia * L_B, L_B);
    const Vec turn_B = dt * (inverse_inertia * L_half);
    const Quat q_next = renormalise(q * exp(turn_B));
    const Vec L_next = L_W + dt * tau_W, w_after = angular_velocity(q_next, L_next, inverse_inertia);
    const double gain = 0.5 * dt * dot(tau_W, w_before + w_after) + 0.5 * (dot(L_W, w_after) - dot(L_next, w_before));
    return {q_next, L_next, w_after, turn_B, gain};
}

constexpr int MOST_ITERATES = 30;
constexpr double ROUNDING = 1e-15;

inline Quat free_turn(const Vec& L_B, const Mat& inverse_inertia, double dt) {
    const Vec w_B = inverse_inertia * L_B;
    Vec turn = dt * (inverse_inertia * (L_B - (0.5 * dt) * cross(w_B, L_B)));
    for (int i = 0; i < MOST_ITERATES; ++i) {
        const Quat q_turn = exp(turn);
        const Vec better = dt * (inverse_inertia * (0.5 * (L_B + rotate_back(q_turn, L_B)))), off = better - turn;
        if (dot(off, off) <= ROUNDING * ROUNDING * dot(turn, turn)) return q_turn;
        turn = better;
    }
    return exp((dt * dot(w_B, L_B) / dot(L_B, L_B)) * L_B);
}

struct FreeTurn { Quat q; Vec w_W; double gain; };

inline FreeTurn free_rule(const Quat& q, const Vec& L_W, const Vec& w_before, const Mat& inverse_inertia, double dt) {
    const Quat q_next = renormalise(q * free_turn(rotate_back(q, L_W), inverse_inertia, dt));
    const Vec w_after = angular_velocity(q_next, L_W, inverse_inertia);
    return {q_next, w_after, 0.5 * (dot(L_W, w_after) - dot(L_W, w_before))};
}
