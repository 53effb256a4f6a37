// Times the tick of freefloat.hpp.
//
//     freefloat_tick NUMBERS CYCLES
//
// NUMBERS holds parameters (p.), first state (x.), first signals (row.) and the wrenches. Each cycle starts from the first
// state and feeds all wrenches. One line of JSON has the time of a tick and every number of the last state and signals.
#include <chrono>

#include "freefloat.hpp"
#include "numbers.hpp"

// Flat: by itself g++ stops inlining half-way.
__attribute__((flatten)) void cycles_of_ticks(Row& row, State& x, const Row& first_row, const State& first_state,
                                              const Parameters& p, const std::vector<Wrench>& wrenches, long cycles) {
    for (long cycle = 0; cycle < cycles; ++cycle) {
        row = first_row;
        x = first_state;
        for (const Wrench& wrench : wrenches) {
            row.X_WB_meas = row.X_WB_cmd;  // a robot that is where it should be
            row.F_So_S = wrench;
            tick(row, x, p);
        }
    }
}

int main(int, char** arguments) {
    const Numbers given = read(arguments[1]);
    const long cycles = std::atol(arguments[2]);
    const auto p = load<Parameters>(given, "p");
    const auto first_row = load<Row>(given, "row");
    const auto first_state = load<State>(given, "x");
    const std::vector<double>& flat = given.at("wrenches");
    std::vector<Wrench> wrenches;
    for (size_t k = 0; k < flat.size(); k += 6)
        wrenches.push_back({{flat[k], flat[k + 1], flat[k + 2]}, {flat[k + 3], flat[k + 4], flat[k + 5]}});

    Row row;
    State x;
    const auto start = std::chrono::steady_clock::now();
    cycles_of_ticks(row, x, first_row, first_state, p, wrenches, cycles);
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;

    Numbers last;
    save(row, "row", last);
    save(x, "x", last);
    print_answer(taken.count() / (double(cycles) * double(wrenches.size())), last);
}
