/* The functions of FMI 2.0 for co-simulation that an importing tool calls, over body.h. Tools generate such a file. */

#include "body.h"

#include <stdlib.h>
#include <string.h>

typedef unsigned int reference;
enum status { OK, WARNING, DISCARD, ERROR, FATAL };

const char *fmi2GetTypesPlatform(void) { return "default"; }
const char *fmi2GetVersion(void) { return "2.0"; }

void *fmi2Instantiate(const char *name, int type, const char *guid, const char *resources, const void *callbacks, int visible, int logging) {
    struct body *b = type == 1 && !strcmp(guid, TOKEN) ? malloc(sizeof *b) : NULL;
    (void)name, (void)resources, (void)callbacks, (void)visible, (void)logging;
    if (b) body_defaults(b);
    return b;
}
void fmi2FreeInstance(void *b) { free(b); }
int fmi2SetupExperiment(void *b, int tolerant, double tolerance, double start, int ends, double stop) {
    (void)b, (void)tolerant, (void)tolerance, (void)start, (void)ends, (void)stop;
    return OK;
}
int fmi2EnterInitializationMode(void *b) { (void)b; return OK; }
int fmi2ExitInitializationMode(void *b) { return body_begin(b) ? OK : ERROR; }
int fmi2Terminate(void *b) { (void)b; return OK; }
int fmi2Reset(void *b) { body_defaults(b); return OK; }

int fmi2SetReal(void *b, const reference references[], size_t count, const double values[]) {
    for (size_t i = 0; i < count; i++) {
        if (references[i] >= NUMBERS) return ERROR;
        ((struct body *)b)->z[references[i]] = values[i];
    }
    return OK;
}
int fmi2GetReal(void *b, const reference references[], size_t count, double values[]) {
    for (size_t i = 0; i < count; i++) {
        if (references[i] >= NUMBERS) return ERROR;
        values[i] = ((struct body *)b)->z[references[i]];
    }
    return OK;
}
int fmi2DoStep(void *b, double t, double dt, int new_start) {
    (void)t, (void)new_start;
    return body_step(b, dt) ? OK : DISCARD;
}
