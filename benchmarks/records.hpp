// Records that several stages share, each with one list of its fields to read and write their numbers.
#pragma once
#include <cstdint>

#include "rotations.hpp"

// Inside `fields(a, f)`: calls f with the name and the value of a field of a.
#define FIELD(name) f(#name, a.name);

struct Pose { Vec p; Quat q; };
struct Twist { Vec v, w; };
struct Wrench { Vec f, tau; };
struct Port { double into, out; };

template <class F> void fields(Pose& a, F f) { FIELD(p) FIELD(q) }
template <class F> void fields(Twist& a, F f) { FIELD(v) FIELD(w) }
template <class F> void fields(Wrench& a, F f) { FIELD(f) FIELD(tau) }
template <class F> void fields(Port& a, F f) { FIELD(into) FIELD(out) }

inline void book(Port& port, double effort, double flow, double dt) {
    const double work = effort * flow * dt;
    if (work >= 0.0) port.into += work; else port.out -= work;
}
inline double energy(const Port& port) { return port.into - port.out; }
