/* The walls of the scenario `wall` as an FMU: a spring in front and one behind. References: position 0..2, force 3..5. */

#include <stdlib.h>

void *fmi2Instantiate(const char *name, int type, const char *guid, const char *resources, const void *callbacks, int visible, int logging) {
    (void)name, (void)type, (void)guid, (void)resources, (void)callbacks, (void)visible, (void)logging;
    return calloc(6, sizeof(double));
}
void fmi2FreeInstance(void *c) { free(c); }
int fmi2SetupExperiment(void *c, int a, double b, double d, int e, double f) {
    (void)c, (void)a, (void)b, (void)d, (void)e, (void)f;
    return 0;
}
int fmi2EnterInitializationMode(void *c) { (void)c; return 0; }
int fmi2ExitInitializationMode(void *c) { (void)c; return 0; }
int fmi2Terminate(void *c) { (void)c; return 0; }
int fmi2SetReal(void *c, const unsigned int r[], size_t n, const double v[]) {
    for (size_t i = 0; i < n; i++) ((double *)c)[r[i]] = v[i];
    return 0;
}
int fmi2GetReal(void *c, const unsigned int r[], size_t n, double v[]) {
    for (size_t i = 0; i < n; i++) v[i] = ((double *)c)[r[i]];
    return 0;
}
int fmi2DoStep(void *c, double t, double dt, int new_start) {
    double *z = c;
    (void)dt, (void)new_start;
    z[3] = z[0] > GAP ? -(STIFFNESS * (z[0] - GAP)) : z[0] < -GAP ? STIFFNESS * (-GAP - z[0]) : 0.0;
    return t > FAILS_AFTER ? 3 : 0;
}
