"""Run by the peers' Python: FMPy checks an FMU, or steps it and keeps every output: `stepping.py check|step FMU ARGUMENTS`."""

import json
import sys
from ctypes import c_double, c_int, c_uint

import numpy as np
from fmpy import extract, read_model_description
from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import FMU2Slave, fmi2LastSuccessfulTime, fmi2Terminated
from fmpy.validation import validate_fmu


class Stepped:
    """An FMU that is stepped."""

    def __init__(self, path):
        self.about = read_model_description(path)
        self.fmu = FMU2Slave(
            guid=self.about.guid,
            modelIdentifier=self.about.coSimulation.modelIdentifier,
            unzipDirectory=extract(path),
            instanceName="tested",
        )
        self.fmu.instantiate(callbacks=None, loggingOn=True)
        self.period = float(self.about.defaultExperiment.stepSize)
        kinds = {"Real": [], "Integer": []}
        for variable in self.about.modelVariables:
            if variable.causality == "output":
                kinds[variable.type].append(variable)
        self.reals, self.integers = kinds["Real"], kinds["Integer"]
        self.references = {variable.name: variable.valueReference for variable in self.about.modelVariables}

    def start(self):
        self.fmu.setupExperiment(startTime=0.0)
        self.fmu.enterInitializationMode()
        self.fmu.exitInitializationMode()

    def row(self):
        """All outputs, with FMPy's plain functions: its lists would take most of the time."""
        found = []
        for variables, kind, get in (
            (self.reals, c_double, self.fmu.fmi2GetReal),
            (self.integers, c_int, self.fmu.fmi2GetInteger),
        ):
            references = (c_uint * len(variables))(*(each.valueReference for each in variables))
            values = (kind * len(variables))()
            get(self.fmu.component, references, len(variables), values)
            found.append(np.array(values))
        return found

    def set(self, values):
        self.fmu.setReal([self.references[name] for name in values], list(values.values()))

    def steps(self, first, count, changes=()):
        """Rows after each step; before the step to a tick the values of that tick are set."""
        rows = []
        for tick in range(first, first + count):
            for at, values in changes:
                if at == tick:
                    self.set(values)
            try:
                self.fmu.doStep((tick - 1) * self.period, self.period)
            except FMICallException:
                break
            rows.append(self.row())
        return rows


def check(path):
    return {"problems": validate_fmu(path)}


def step(path, out, count, changes):
    """Write all rows to `out`; finally, whether the FMU reports that its run is over."""
    stepped = Stepped(path)
    stepped.start()
    rows = [stepped.row(), *stepped.steps(1, int(count) - 1, json.loads(changes))]
    names = {"reals": [each.name for each in stepped.reals], "integers": [each.name for each in stepped.integers]}
    np.savez(out, reals=np.array([row[0] for row in rows]), integers=np.array([row[1] for row in rows], np.int64))
    over = stepped.fmu.getBooleanStatus(fmi2Terminated)
    return {**names, "over": bool(over), "until": stepped.fmu.getRealStatus(fmi2LastSuccessfulTime)}


def again(path):
    """A saved state continues like the run that it was taken from, also in another instance and after a reset."""
    one, other = Stepped(path), Stepped(path)
    one.start()
    one.steps(1, 400)
    kept = one.fmu.getFMUstate()
    ahead = one.steps(401, 300)
    bytes_of_it = one.fmu.serializeFMUstate(kept)
    other.start()
    beginning = other.steps(1, 50)
    other.fmu.setFMUstate(other.fmu.deSerializeFMUstate(bytes_of_it))
    elsewhere = other.steps(401, 300)
    one.fmu.reset()
    one.start()
    return {"elsewhere": same(elsewhere, ahead), "reset": same(one.steps(1, 50), beginning)}


def same(some, others):
    return all(np.array_equal(a, b) for one, other in zip(some, others, strict=True) for a, b in zip(one, other, strict=True))


def refuse(path):
    """What the FMU refuses, and with which status."""
    stepped = Stepped(path)
    stepped.start()
    found = {}
    for name, call in {
        "long": lambda: stepped.fmu.doStep(0.0, 2.0 * stepped.period),
        "short": lambda: stepped.fmu.doStep(0.0, 0.5 * stepped.period),
        "gap": lambda: stepped.fmu.doStep(5.0 * stepped.period, stepped.period),
        "constant": lambda: stepped.set({"servicer.mass": 1.0}),
        "range": lambda: stepped.set({"contact.stiffness": -1.0}),
        "right": lambda: stepped.fmu.doStep(0.0, stepped.period),
    }.items():
        try:
            call()
            found[name] = 0
        except FMICallException as error:
            found[name] = error.status
    return found


if __name__ == "__main__":
    task, *arguments = sys.argv[1:]
    found = {"check": check, "step": step, "again": again, "refuse": refuse}[task](*arguments)
    print("\n" + json.dumps(found))
