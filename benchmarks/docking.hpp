// One step of docking, plant and tick, as a C++ engineer would write it: the yardstick for the compiled Python of hilt.
#pragma once
#include "compensation.hpp"
#include "contact_identification.hpp"
#include "docking_plant.hpp"
#include "guard.hpp"
#include "twin.hpp"
#include "two_bodies.hpp"

struct Parameters {
    double dt;
    RobotParameters robot; ContactParameters contact; LedgerParameters ledger; SensorParameters sensor;
    SenseParameters sense; IdentifyParameters identify; CompensateParameters compensate; BodiesParameters bodies;
    GuardLimits guard; twin::Parameters twin;
};
struct State {
    SenseState sense; IdentifyState identify; CompensateState compensate; BodiesState bodies; GuardState guard;
    twin::State twin;
};
struct World { RobotState robot; ContactState contact; LedgerState ledger; SensorState sensor; };
template <class F> void fields(Parameters& a, F f) {
    FIELD(dt) FIELD(robot) FIELD(contact) FIELD(ledger) FIELD(sensor)
    FIELD(sense) FIELD(identify) FIELD(compensate) FIELD(bodies) FIELD(guard)
    stages(a.twin, f);
}
template <class F> void fields(State& a, F f) {
    FIELD(sense) FIELD(identify) FIELD(compensate) FIELD(bodies) FIELD(guard)
    stages(a.twin, f);
}
template <class F> void fields(World& a, F f) { FIELD(robot) FIELD(contact) FIELD(ledger) FIELD(sensor) }

inline void plant(Row& row, World& w, const Parameters& p) {
    robot(row, w.robot, p.robot);
    encoder(row);
    contact(row, w.contact, p.contact);
    contact_ledger(row, w.ledger, p.ledger);
    target_sensor(row, w.sensor, p.sensor);
}

inline void tick(Row& row, State& x, const Parameters& p) {
    const bool has_twin = p.twin.twin_body.mass > 0.0;
    if (has_twin) twin::bias(row, x.twin.twin_bias, p.twin.twin_bias, p.dt);
    contact_sense(row, x.sense, p.sense, p.dt);
    if (has_twin) {
        twin::tick(row, x.twin, x.bodies, p.twin, p.bodies, p.dt);
    } else {
        identify(row, x.identify, p.identify);
        compensate(row, x.compensate, p.compensate, p.dt);
        two_bodies(row, x.bodies, p.bodies, p.dt);
        row.X_WB_cmd = row.X_WB_sim;
        row.V_WB_cmd = row.V_WB_sim;
    }
    guard(row, x.guard, p.guard, p.dt);
}
