/* The same for FMI 3.0, where a vector is one variable: its reference is the index of its first entry. */

#include "body.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum status { OK, WARNING, DISCARD, ERROR, FATAL };

static const struct { uint32_t reference; size_t size; } VARIABLES[] = {
    {FORCE, 3}, {TORQUE, 3}, {POSITION, 3}, {ATTITUDE, 4}, {VELOCITY, 3}, {ANGULAR_VELOCITY, 3}, {MASS, 1}, {INERTIA, 9},
};

const char *fmi3GetVersion(void) { return "3.0"; }

void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *resources, bool visible, bool logging,
                                  bool events, bool early, const uint32_t *intermediate, size_t count, void *environment,
                                  void *logger, void *update) {
    struct body *b = !strcmp(token, TOKEN) ? malloc(sizeof *b) : NULL;
    (void)name, (void)resources, (void)visible, (void)logging, (void)events, (void)early, (void)intermediate, (void)count;
    (void)environment, (void)logger, (void)update;
    if (b) body_defaults(b);
    return b;
}
void fmi3FreeInstance(void *b) { free(b); }
int fmi3EnterInitializationMode(void *b, bool tolerant, double tolerance, double start, bool ends, double stop) {
    (void)b, (void)tolerant, (void)tolerance, (void)start, (void)ends, (void)stop;
    return OK;
}
int fmi3ExitInitializationMode(void *b) { return body_begin(b) ? OK : ERROR; }
int fmi3Terminate(void *b) { (void)b; return OK; }
int fmi3Reset(void *b) { body_defaults(b); return OK; }

static int each(struct body *b, const uint32_t references[], size_t count, double *values, size_t room, bool set) {
    for (size_t i = 0; i < count; i++) {
        size_t n = 0;
        while (n < sizeof VARIABLES / sizeof *VARIABLES && VARIABLES[n].reference != references[i]) n++;
        if (n == sizeof VARIABLES / sizeof *VARIABLES || VARIABLES[n].size > room) return ERROR;
        if (set) memcpy(&b->z[references[i]], values, VARIABLES[n].size * sizeof *values);
        else memcpy(values, &b->z[references[i]], VARIABLES[n].size * sizeof *values);
        values += VARIABLES[n].size, room -= VARIABLES[n].size;
    }
    return room ? ERROR : OK;
}
int fmi3SetFloat64(void *b, const uint32_t references[], size_t count, const double values[], size_t room) {
    return each(b, references, count, (double *)values, room, true);
}
int fmi3GetFloat64(void *b, const uint32_t references[], size_t count, double values[], size_t room) {
    return each(b, references, count, values, room, false);
}
int fmi3DoStep(void *b, double t, double dt, bool new_start, bool *event, bool *terminate, bool *early, double *last) {
    int finite = body_step(b, dt);
    (void)new_start;
    *event = *terminate = *early = false;
    *last = finite ? t + dt : t;
    return finite ? OK : DISCARD;
}
