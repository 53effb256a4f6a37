// Three-vectors and unit quaternions w, x, y, z; the same expressions in the same order as hilt.maths.
#pragma once
#include <array>
#include <cmath>

using Vec = std::array<double, 3>;
using Quat = std::array<double, 4>;
using Mat = std::array<Vec, 3>;

inline Vec operator+(const Vec& a, const Vec& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
inline Vec operator-(const Vec& a, const Vec& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
inline Vec operator*(double s, const Vec& a) { return {s * a[0], s * a[1], s * a[2]}; }
inline double dot(const Vec& a, const Vec& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
inline Vec operator*(const Mat& m, const Vec& a) { return {dot(m[0], a), dot(m[1], a), dot(m[2], a)}; }
inline Vec cross(const Vec& a, const Vec& b) {
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

inline Quat operator*(const Quat& a, const Quat& b) {
    return {
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    };
}
inline Quat inverse(const Quat& q) { return {q[0], -q[1], -q[2], -q[3]}; }
inline Quat renormalise(const Quat& q) {  // one Newton step, no root
    const double s = 1.5 - 0.5 * (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    return {s * q[0], s * q[1], s * q[2], s * q[3]};
}
inline Vec rotate(const Quat& q, const Vec& a) {
    const Vec u = {q[1], q[2], q[3]}, t = 2.0 * cross(u, a);
    return a + q[0] * t + cross(u, t);
}
inline Vec rotate_back(const Quat& q, const Vec& a) { return rotate(inverse(q), a); }

constexpr double SMALL = 1e-4;  // square of an angle below which series are used
inline Quat exp(const Vec& phi) {
    const double square = dot(phi, phi);
    if (square < SMALL) {
        const double s = 0.5 - square * (1.0 / 48.0 - square / 3840.0);
        return {1.0 - square * (0.125 - square * (1.0 / 384.0)), s * phi[0], s * phi[1], s * phi[2]};
    }
    const double angle = std::sqrt(square), s = std::sin(0.5 * angle) / angle;
    return {std::cos(0.5 * angle), s * phi[0], s * phi[1], s * phi[2]};
}
inline Vec log(const Quat& q) {
    const double sign = q[0] >= 0.0 ? 1.0 : -1.0;
    const Vec u = {sign * q[1], sign * q[2], sign * q[3]};
    const double square = dot(u, u);
    if (square < SMALL) return (2.0 + square * (1.0 / 3.0 + square * (0.15 + square * (5.0 / 56.0)))) * u;
    const double s = std::sqrt(square);
    return (2.0 * std::atan2(s, sign * q[0]) / s) * u;
}
inline Vec shortest(const Vec& phi) {
    const double square = dot(phi, phi), pi = 3.141592653589793;
    if (square <= pi * pi) return phi;
    const double angle = std::sqrt(square);
    return (1.0 - 2.0 * pi * std::floor(angle / (2.0 * pi) + 0.5) / angle) * phi;
}
inline Vec between(const Quat& a, const Quat& b) { return log(b * inverse(a)); }
inline Quat interpolate(const Quat& a, const Quat& b, double share) { return exp(share * between(a, b)) * a; }
