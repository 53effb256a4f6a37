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
inline double norm(const Vec& a) { return std::sqrt(dot(a, a)); }
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
inline Quat normalise(const Quat& q) {
    const double s = 1.0 / std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    return {s * q[0], s * q[1], s * q[2], s * q[3]};
}
inline Vec rotate(const Quat& q, const Vec& a) {
    const Vec u = {q[1], q[2], q[3]}, t = 2.0 * cross(u, a);
    return a + q[0] * t + cross(u, t);
}
inline Quat exp(const Vec& phi) {
    const double angle = norm(phi), half = 0.5 * angle;
    const double s = angle > 1e-4 ? std::sin(half) / angle : 0.5 - angle * angle / 48.0;
    return {std::cos(half), s * phi[0], s * phi[1], s * phi[2]};
}
inline Vec log(const Quat& q) {
    const double sign = q[0] >= 0.0 ? 1.0 : -1.0;
    const Vec u = {sign * q[1], sign * q[2], sign * q[3]};
    const double s = norm(u);
    return (s > 1e-8 ? 2.0 * std::atan2(s, sign * q[0]) / s : 2.0) * u;
}
