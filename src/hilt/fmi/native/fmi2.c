/* The functions of FMI 2.0 for co-simulation, over the loop in loop.h. */

#include "loop.h"

#define API __attribute__((visibility("default")))

typedef void *fmi2Component;
typedef unsigned int fmi2ValueReference;
typedef double fmi2Real;
typedef int fmi2Integer, fmi2Boolean;
typedef char fmi2Char, fmi2Byte;
typedef const fmi2Char *fmi2String;
typedef void *fmi2FMUstate, *fmi2ComponentEnvironment;
typedef enum { fmi2OK, fmi2Warning, fmi2Discard, fmi2Error, fmi2Fatal, fmi2Pending } fmi2Status;
typedef void (*fmi2CallbackLogger)(fmi2ComponentEnvironment, fmi2String, fmi2Status, fmi2String, fmi2String, ...);
typedef struct {
    fmi2CallbackLogger logger;
    void *(*allocateMemory)(size_t, size_t);
    void (*freeMemory)(void *);
    void (*stepFinished)(fmi2ComponentEnvironment, fmi2Status);
    fmi2ComponentEnvironment environment;
} fmi2CallbackFunctions;

struct component {
    struct loop loop;
    const fmi2CallbackFunctions *callbacks;
    char name[200];
};

static fmi2Status report(fmi2Component c, enum outcome outcome) {
    struct component *self = c;
    static const fmi2Status statuses[] = {fmi2OK, fmi2Discard, fmi2Error};
    static const char *categories[] = {"", "logStatusDiscard", "logStatusError"};
    if (outcome != DONE && self->callbacks && self->callbacks->logger)
        self->callbacks->logger(self->callbacks->environment, self->name, statuses[outcome], categories[outcome], "%s", self->loop.message);
    return statuses[outcome];
}

static fmi2Status failed(fmi2Component c, const char *words) {
    say(&((struct component *)c)->loop, "%s", words);
    return report(c, FAILED);
}

API const char *fmi2GetTypesPlatform(void) { return "default"; }
API const char *fmi2GetVersion(void) { return "2.0"; }
API fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t n, const fmi2String categories[]) {
    (void)c, (void)on, (void)n, (void)categories;
    return fmi2OK;
}

API fmi2Component fmi2Instantiate(fmi2String name, int type, fmi2String guid, fmi2String resources,
                                  const fmi2CallbackFunctions *callbacks, fmi2Boolean visible, fmi2Boolean logging) {
    (void)resources, (void)visible, (void)logging;
    struct component *self = calloc(1, sizeof *self);
    if (!self) return NULL;
    self->callbacks = callbacks;
    snprintf(self->name, sizeof self->name, "%s", name ? name : "hilt");
    if (type != 1) {
        failed(self, "this FMU is for co-simulation only");
    } else if (!guid || strcmp(guid, MODEL_GUID)) {
        failed(self, "modelDescription.xml and library are from different exports: their GUIDs differ");
    } else {
        begin(&self->loop);
        return self;
    }
    free(self);
    return NULL;
}

API void fmi2FreeInstance(fmi2Component c) { free(c); }

API fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean tolerance_given, fmi2Real tolerance, fmi2Real start,
                                   fmi2Boolean stop_given, fmi2Real stop) {
    (void)tolerance_given, (void)tolerance, (void)stop_given, (void)stop;
    ((struct component *)c)->loop.m.start = start;
    return fmi2OK;
}

API fmi2Status fmi2EnterInitializationMode(fmi2Component c) {
    struct loop *loop = &((struct component *)c)->loop;
    if (loop->m.phase != CREATED) return failed(c, "it is initialized already; reset it first");
    loop->m.phase = STARTING;
    return fmi2OK;
}

API fmi2Status fmi2ExitInitializationMode(fmi2Component c) {
    struct loop *loop = &((struct component *)c)->loop;
    if (loop->m.phase != STARTING) return failed(c, "it is not in initialization mode");
    loop->m.phase = RUNNING;
    turn(loop, 0);
    return fmi2OK;
}

API fmi2Status fmi2Terminate(fmi2Component c) {
    (void)c;
    return fmi2OK;
}

API fmi2Status fmi2Reset(fmi2Component c) {
    begin(&((struct component *)c)->loop);
    return fmi2OK;
}

API fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference refs[], size_t n, fmi2Real values[]) {
    struct loop *loop = &((struct component *)c)->loop;
    for (size_t i = 0; i < n; i++) {
        const struct variable *v = find(loop, refs[i]);
        if (!v) return report(c, FAILED);
        if (v->kind == ROW_INTEGER) return failed(c, "a whole number was read as a real one");
        read_reals(loop, v, &values[i]);
    }
    return fmi2OK;
}

API fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference refs[], size_t n, const fmi2Real values[]) {
    struct loop *loop = &((struct component *)c)->loop;
    for (size_t i = 0; i < n; i++) {
        const struct variable *v = find(loop, refs[i]);
        enum outcome outcome = v ? write_reals(loop, v, &values[i]) : FAILED;
        if (outcome != DONE) return report(c, outcome);
    }
    return fmi2OK;
}

API fmi2Status fmi2GetInteger(fmi2Component c, const fmi2ValueReference refs[], size_t n, fmi2Integer values[]) {
    struct loop *loop = &((struct component *)c)->loop;
    for (size_t i = 0; i < n; i++) {
        const struct variable *v = find(loop, refs[i]);
        if (!v) return report(c, FAILED);
        if (v->kind != ROW_INTEGER) return failed(c, "a real number was read as a whole one");
        int64_t value = integer(loop, v->offset);
        if (value != (fmi2Integer)value) return failed(c, "a whole number needs more than 32 bits");
        values[i] = (fmi2Integer)value;
    }
    return fmi2OK;
}

static fmi2Status none(fmi2Component c, size_t n, const char *words) { return n ? failed(c, words) : fmi2OK; }
#define NONE(name, type, words) \
    API fmi2Status name(fmi2Component c, const fmi2ValueReference refs[], size_t n, type values[]) { \
        (void)refs, (void)values; \
        return none(c, n, words); \
    }
NONE(fmi2SetInteger, const fmi2Integer, "whole numbers are outputs and cannot be set")
NONE(fmi2GetBoolean, fmi2Boolean, "there are no booleans")
NONE(fmi2SetBoolean, const fmi2Boolean, "there are no booleans")
NONE(fmi2GetString, fmi2String, "there are no strings")
NONE(fmi2SetString, const fmi2String, "there are no strings")

API fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *state) {
    if (!*state) *state = malloc(sizeof(struct memory));
    if (!*state) return failed(c, "there is not enough memory for a state");
    memcpy(*state, &((struct component *)c)->loop.m, sizeof(struct memory));
    return fmi2OK;
}

API fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state) {
    struct loop *loop = &((struct component *)c)->loop;
    memcpy(&loop->m, state, sizeof(struct memory));
    hold_own_stick(loop);
    return fmi2OK;
}

API fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *state) {
    (void)c;
    free(*state);
    *state = NULL;
    return fmi2OK;
}

API fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate state, size_t *size) {
    (void)c, (void)state;
    *size = sizeof(struct memory);
    return fmi2OK;
}

API fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[], size_t size) {
    if (size < sizeof(struct memory)) return failed(c, "the buffer is too small for the state");
    memcpy(bytes, state, sizeof(struct memory));
    return fmi2OK;
}

API fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte bytes[], size_t size, fmi2FMUstate *state) {
    if (size != sizeof(struct memory)) return failed(c, "this is not a state of this FMU");
    if (!*state) *state = malloc(sizeof(struct memory));
    if (!*state) return failed(c, "there is not enough memory for a state");
    memcpy(*state, bytes, sizeof(struct memory));
    return fmi2OK;
}

API fmi2Status fmi2DoStep(fmi2Component c, fmi2Real t, fmi2Real size, fmi2Boolean no_set_before) {
    (void)no_set_before;
    return report(c, step(&((struct component *)c)->loop, t, size));
}

API fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference unknown[], size_t n,
                                            const fmi2ValueReference known[], size_t m, const fmi2Real dv[], fmi2Real dz[]) {
    (void)unknown, (void)n, (void)known, (void)m, (void)dv, (void)dz;
    return failed(c, "there are no directional derivatives");
}

API fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference refs[], size_t n, const fmi2Integer order[],
                                           const fmi2Real values[]) {
    (void)refs, (void)order, (void)values;
    return none(c, n, "inputs are held over a step; they have no derivatives");
}

API fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference refs[], size_t n, const fmi2Integer order[],
                                            fmi2Real values[]) {
    (void)refs, (void)order, (void)values;
    return none(c, n, "outputs are sampled; they have no derivatives");
}

API fmi2Status fmi2CancelStep(fmi2Component c) { return failed(c, "a step cannot be cancelled"); }

/* Kinds of status: 0 doStep, 1 pending, 2 last successful time, 3 terminated. */
API fmi2Status fmi2GetStatus(fmi2Component c, int kind, fmi2Status *value) {
    (void)c, (void)kind;
    *value = fmi2OK;
    return fmi2OK;
}

API fmi2Status fmi2GetRealStatus(fmi2Component c, int kind, fmi2Real *value) {
    struct loop *loop = &((struct component *)c)->loop;
    if (kind != 2) return fmi2Discard;
    *value = loop->m.start + (double)loop->m.tick * PERIOD;
    return fmi2OK;
}

API fmi2Status fmi2GetIntegerStatus(fmi2Component c, int kind, fmi2Integer *value) {
    (void)c, (void)kind, (void)value;
    return fmi2Discard;
}

API fmi2Status fmi2GetBooleanStatus(fmi2Component c, int kind, fmi2Boolean *value) {
    if (kind != 3) return fmi2Discard;
    *value = ((struct component *)c)->loop.m.phase == ENDED;
    return fmi2OK;
}

API fmi2Status fmi2GetStringStatus(fmi2Component c, int kind, fmi2String *value) {
    if (kind != 1) return fmi2Discard;
    *value = ((struct component *)c)->loop.message;
    return fmi2OK;
}
