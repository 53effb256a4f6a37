// A delay line with fractional delays; the same expressions as hilt.maths.delay.
#pragma once
#include "records.hpp"

constexpr int64_t CAPACITY = 512;  // a power of two, so that indices wrap with a mask

template <size_t WIDTH> struct Line {
    std::array<std::array<double, WIDTH>, CAPACITY> buffer;
    int64_t newest;

    std::array<double, WIDTH>& advance() { return buffer[newest = (newest + 1) & (CAPACITY - 1)]; }
};
using WrenchLine = Line<6>;
using MotionLine = Line<13>;

template <class F, size_t WIDTH> void fields(Line<WIDTH>& a, F f) { FIELD(buffer) FIELD(newest) }

// The samples on both sides of a time, and its fraction towards the older one.
template <size_t WIDTH> struct Neighbours {
    const std::array<double, WIDTH>&newer, &older;
    double share;

    Vec vector(size_t first) const {
        const size_t i = first;
        return {newer[i] + share * (older[i] - newer[i]), newer[i + 1] + share * (older[i + 1] - newer[i + 1]),
                newer[i + 2] + share * (older[i + 2] - newer[i + 2])};
    }
    Quat attitude(size_t i) const {
        const Quat a = {newer[i], newer[i + 1], newer[i + 2], newer[i + 3]};
        return share > 0.0 ? interpolate(a, {older[i], older[i + 1], older[i + 2], older[i + 3]}, share) : a;
    }
};

template <size_t WIDTH> Neighbours<WIDTH> neighbours(const Line<WIDTH>& line, double samples) {
    const int64_t whole = int64_t(samples), newer = line.newest - whole;
    return {line.buffer[newer & (CAPACITY - 1)], line.buffer[(newer - 1) & (CAPACITY - 1)], samples - double(whole)};
}

inline void push(WrenchLine& line, const Vec& f, const Vec& tau) {
    line.advance() = {f[0], f[1], f[2], tau[0], tau[1], tau[2]};
}
inline void push(MotionLine& line, const Pose& X, const Twist& V) {
    line.advance() = {X.p[0], X.p[1], X.p[2], V.v[0], V.v[1], V.v[2], X.q[0], X.q[1], X.q[2], X.q[3], V.w[0], V.w[1], V.w[2]};
}
