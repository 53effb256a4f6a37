/* Around the functions of examples/own_body: counts the instances, and a step may fail. Compiled with -DfmiXDoStep=plain_step. */

#include <stdbool.h>
#include <stddef.h>

int made, freed, terminated;

void *__real_malloc(size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size) { made++; return __real_malloc(size); }
void __wrap_free(void *memory) { freed++; __real_free(memory); }

#ifdef FMI2
int plain_step(void *b, double t, double dt, int new_start);
int fmi2DoStep(void *b, double t, double dt, int new_start) {
    int status = plain_step(b, t, dt, new_start);
    return t > AFTER ? STATUS : status;
}
int fmi2Terminate(void *b) { (void)b; terminated++; return 0; }
#else
int plain_step(void *b, double t, double dt, bool new_start, bool *event, bool *terminate, bool *early, double *last);
int fmi3DoStep(void *b, double t, double dt, bool new_start, bool *event, bool *terminate, bool *early, double *last) {
    int status = plain_step(b, t, dt, new_start, event, terminate, early, last);
    *terminate = t > AFTER;
    return status;
}
#endif
