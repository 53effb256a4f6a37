/* The loop of a hilt system inside an FMU: what both versions of the standard share.

   model.h, written at export, has the sizes, the start values and the table of variables; hilt_turn is the compiled plant (part 0)
   and tick (part 1). Nothing here allocates or waits while the loop runs. */

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

enum kind { ROW_REAL, ROW_INTEGER, LIVE, STICK, CONSTANT };
enum phase { CREATED, STARTING, RUNNING, ENDED };
enum outcome { DONE, REFUSED, FAILED };

struct variable {
    const char *name;
    int kind, offset, count; /* bytes into the row, or a number among the live values, the axes, the constants */
};

struct live {
    const char *name;
    double low, high, start;
    int64_t ramp; /* ticks */
    int places[LIVE_PLACES], count; /* bytes into the parameters */
};

static const struct variable variables[] = VARIABLES;
static const struct live lives[] = LIVES;
static const double constants[] = CONSTANTS;
static const uint64_t start_row[ROW_WORDS] = START_ROW;
static const uint64_t start_x[X_WORDS] = START_X;
static const uint64_t start_w[W_WORDS] = START_W;
static const uint64_t start_p[P_WORDS] = START_P;

/* Numba's calling convention: a place for the result, one for an exception (a tick raises none), then the arguments. */
extern int32_t hilt_turn(void **result, void **exception, int64_t part, void *row, void *x, void *w, void *p);

struct memory { /* everything that a saved state has to hold */
    int64_t tick;
    int64_t phase;
    double start; /* s, of the first row */
    struct {
        double value, begin;
        int64_t changed, first, left; /* left: the ramp is still running */
    } live[LIVE_COUNT];
    double stick[8]; /* counter, six axes, beat: see hilt/plant/joystick.py */
    uint64_t row[ROW_WORDS], x[X_WORDS], w[W_WORDS], p[P_WORDS];
};

struct loop {
    struct memory m;
    char message[600];
};

static void say(struct loop *self, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(self->message, sizeof self->message, format, arguments);
    va_end(arguments);
}

static void *at(uint64_t *words, int offset) { return (char *)words + offset; }

static int64_t integer(struct loop *self, int offset) { return *(int64_t *)at(self->m.row, offset); }

static void hold_own_stick(struct loop *self) {
    if (STICK_ADDRESS >= 0) *(int64_t *)at(self->m.p, STICK_ADDRESS) = (int64_t)(intptr_t)self->m.stick;
}

static void begin(struct loop *self) {
    memset(&self->m, 0, sizeof self->m);
    memcpy(self->m.row, start_row, sizeof start_row);
    memcpy(self->m.x, start_x, sizeof start_x);
    memcpy(self->m.w, start_w, sizeof start_w);
    memcpy(self->m.p, start_p, sizeof start_p);
    for (int i = 0; i < LIVE_COUNT - 1; i++) self->m.live[i].value = lives[i].start;
    hold_own_stick(self);
}

/* The ramps of the live values, as in hilt/core/tuning.py: the same numbers for the same tick. */
static void tune(struct loop *self) {
    for (int i = 0; i < LIVE_COUNT - 1; i++) {
        const struct live *live = &lives[i];
        if (self->m.live[i].changed) {
            self->m.live[i].changed = 0;
            self->m.live[i].left = 1;
            self->m.live[i].first = self->m.tick;
            self->m.live[i].begin = *(double *)at(self->m.p, live->places[0]);
        }
        if (!self->m.live[i].left) continue;
        double from = self->m.live[i].begin, to = self->m.live[i].value;
        double share = (double)(self->m.tick - self->m.live[i].first + 1) / (double)live->ramp;
        double now = share >= 1.0 ? to : from + share * (to - from);
        for (int k = 0; k < live->count; k++) *(double *)at(self->m.p, live->places[k]) = now;
        if (share >= 1.0) self->m.live[i].left = 0;
    }
}

/* One turn of the loop: time, plant, changes, tick; as in hilt/loop.py. */
static void turn(struct loop *self, int64_t tick) {
    void *result = NULL, *exception = NULL;
    self->m.tick = tick;
    *(int64_t *)at(self->m.row, ROW_TICK) = tick;
    *(double *)at(self->m.row, ROW_T) = (double)tick * PERIOD;
    self->m.stick[0] += 2.0;
    self->m.stick[7] += 1.0;
    hilt_turn(&result, &exception, 0, self->m.row, self->m.x, self->m.w, self->m.p);
    tune(self);
    hilt_turn(&result, &exception, 1, self->m.row, self->m.x, self->m.w, self->m.p);
    if (integer(self, ROW_FAULT) || integer(self, ROW_DONE)) self->m.phase = ENDED;
}

static const char *fault_words(int64_t code) {
    static const struct { int64_t code; const char *words; } faults[] = FAULTS;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (faults[i].code == code) return faults[i].words;
    return "a fault";
}

/* REFUSED after the end of the run: its last row stays. */
static enum outcome step(struct loop *self, double t, double size) {
    if (self->m.phase == ENDED) {
        int64_t fault = integer(self, ROW_FAULT);
        if (fault)
            say(self, "stopped at t = %g s with fault %d: %s", (double)self->m.tick * PERIOD, (int)fault, fault_words(fault));
        else
            say(self, "the run ended normally at t = %g s", (double)self->m.tick * PERIOD);
        return REFUSED;
    }
    if (self->m.phase != RUNNING) {
        say(self, "a step was requested before the end of the initialization");
        return FAILED;
    }
    if (!(fabs(size - PERIOD) <= 1e-6 * PERIOD)) {
        say(self, "the step is %.9g s; this loop runs at loop.period = %.9g s only; set the communication step to it", size, PERIOD);
        return FAILED;
    }
    double expected = self->m.start + (double)self->m.tick * PERIOD;
    if (!(fabs(t - expected) <= 1e-3 * PERIOD)) {
        say(self, "the step begins at t = %.9g s, but the loop is at %.9g s; step without gaps, or restore a state", t, expected);
        return FAILED;
    }
    turn(self, self->m.tick + 1);
    return DONE;
}

static const struct variable *find(struct loop *self, uint32_t reference) {
    if (reference < VARIABLE_COUNT) return &variables[reference];
    say(self, "there is no variable with the value reference %u", (unsigned)reference);
    return NULL;
}

/* Numbers of one variable; the count is that of the variable. */
static void read_reals(struct loop *self, const struct variable *v, double *values) {
    switch (v->kind) {
    case ROW_REAL: memcpy(values, at(self->m.row, v->offset), sizeof *values * (size_t)v->count); break;
    case LIVE: *values = self->m.live[v->offset].value; break;
    case STICK: memcpy(values, self->m.stick + 1 + v->offset, sizeof *values * (size_t)v->count); break;
    case CONSTANT: memcpy(values, constants + v->offset, sizeof *values * (size_t)v->count); break;
    }
}

static enum outcome write_reals(struct loop *self, const struct variable *v, const double *values) {
    if (v->kind == LIVE) {
        const struct live *live = &lives[v->offset];
        if (!(*values >= live->low && *values <= live->high)) {
            say(self, "%s would be %g; allowed is %g to %g; stay within it", v->name, *values, live->low, live->high);
            return REFUSED;
        }
        if (*values != self->m.live[v->offset].value) {
            self->m.live[v->offset].value = *values;
            self->m.live[v->offset].changed = 1;
        }
        return DONE;
    }
    if (v->kind == STICK) {
        for (int i = 0; i < v->count; i++) {
            if (!(values[i] >= -1.0 && values[i] <= 1.0)) {
                say(self, "%s would be %g; an axis goes from -1 to 1", v->name, values[i]);
                return REFUSED;
            }
            self->m.stick[1 + v->offset + i] = values[i];
        }
        return DONE;
    }
    say(self, "%s cannot be set: it is %s", v->name, v->kind == CONSTANT ? "fixed at export; export again with --set" : "an output");
    return FAILED;
}
