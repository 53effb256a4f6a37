/* Momentum and the exponential map: what hilt's integrator `momentum` computes. */

#include "body.h"

#include <math.h>
#include <string.h>

static void cross(double out[3], const double a[3], const double b[3]) {
    double x = a[1] * b[2] - a[2] * b[1], y = a[2] * b[0] - a[0] * b[2], z = a[0] * b[1] - a[1] * b[0];
    out[0] = x, out[1] = y, out[2] = z;
}

/* R(q) a;  `back` is 1 or, for the transpose, -1. */
static void rotate(double out[3], const double q[4], const double a[3], double back) {
    double u[3] = {back * q[1], back * q[2], back * q[3]}, t[3], ut[3];
    cross(t, u, a);
    for (int i = 0; i < 3; i++) t[i] *= 2.0;
    cross(ut, u, t);
    for (int i = 0; i < 3; i++) out[i] = a[i] + q[0] * t[i] + ut[i];
}

static void times(double out[3], const double m[3][3], const double a[3]) {
    for (int i = 0; i < 3; i++) out[i] = m[i][0] * a[0] + m[i][1] * a[1] + m[i][2] * a[2];
}

static void turn(double q[4], const double phi[3]) { /* q exp(phi), kept at unit length */
    double square = phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2], angle = sqrt(square);
    double s = square < 1e-4 ? 0.5 - square * (1.0 / 48.0 - square / 3840.0) : sin(0.5 * angle) / angle;
    double w = square < 1e-4 ? 1.0 - square * (0.125 - square / 384.0) : cos(0.5 * angle);
    double x = s * phi[0], y = s * phi[1], z = s * phi[2];
    double r[4] = {q[0] * w - q[1] * x - q[2] * y - q[3] * z, q[0] * x + q[1] * w + q[2] * z - q[3] * y,
                   q[0] * y - q[1] * z + q[2] * w + q[3] * x, q[0] * z + q[1] * y - q[2] * x + q[3] * w};
    double length = 1.5 - 0.5 * (r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3]);
    for (int i = 0; i < 4; i++) q[i] = length * r[i];
}

void body_defaults(struct body *b) {
    memset(b, 0, sizeof *b);
    b->z[ATTITUDE] = b->z[MASS] = b->z[INERTIA] = b->z[INERTIA + 4] = b->z[INERTIA + 8] = 1.0;
}

int body_begin(struct body *b) {
    const double(*m)[3] = (const double(*)[3]) & b->z[INERTIA];
    double columns[3][3], det, w[3], L[3];
    for (int i = 0; i < 3; i++) cross(columns[i], m[(i + 1) % 3], m[(i + 2) % 3]);
    det = m[0][0] * columns[0][0] + m[0][1] * columns[0][1] + m[0][2] * columns[0][2];
    if (!(b->z[MASS] > 0.0) || !(det > 0.0)) return 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) b->inverse[i][j] = columns[j][i] / det;
    rotate(w, &b->z[ATTITUDE], &b->z[ANGULAR_VELOCITY], -1.0);
    times(L, m, w);
    rotate(b->L, &b->z[ATTITUDE], L, 1.0);
    return 1;
}

int body_step(struct body *b, double dt) {
    double *z = b->z, *q = &z[ATTITUDE], middle[3], L[3], w[3], wL[3];
    int finite = 1;
    for (int i = 0; i < 3; i++) {
        double before = z[VELOCITY + i];
        z[VELOCITY + i] = before + dt * z[FORCE + i] / z[MASS];
        z[POSITION + i] += dt * (0.5 * (before + z[VELOCITY + i]));
        middle[i] = b->L[i] + 0.5 * dt * z[TORQUE + i];
    }
    rotate(L, q, middle, -1.0);
    times(w, (const double(*)[3])b->inverse, L);
    cross(wL, w, L);
    for (int i = 0; i < 3; i++) L[i] -= 0.5 * dt * wL[i];
    times(w, (const double(*)[3])b->inverse, L);
    for (int i = 0; i < 3; i++) w[i] *= dt;
    turn(q, w);
    for (int i = 0; i < 3; i++) b->L[i] += dt * z[TORQUE + i];
    rotate(L, q, b->L, -1.0);
    times(w, (const double(*)[3])b->inverse, L);
    rotate(&z[ANGULAR_VELOCITY], q, w, 1.0);
    for (int i = 0; i < NUMBERS; i++) finite &= isfinite(z[i]) != 0;
    return finite;
}
