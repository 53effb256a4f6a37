// Times the step of docking.hpp.
//
//     docking_step NUMBERS CYCLES
//
// NUMBERS holds parameters (p.), first states (x., w.), first signals (row.), the `steps` of a cycle and room for the
// `rebounds`. Each cycle starts from the first states. One line of JSON has the time of a step, every number of the last
// states and signals, and the speed of the tip along the frames' normal at the end of the flight before each collision.
#include <chrono>
#include <memory>

#include "docking.hpp"
#include "numbers.hpp"

struct Bench { Row row; State x; World w; };

// Flat: by itself g++ stops inlining half-way, which costs a third of the speed.
__attribute__((flatten)) void cycles_of_steps(Bench& bench, const Bench& first, const Parameters& p, long cycles, long steps,
                                              std::vector<double>& rebounds) {
    Row& row = bench.row;
    for (long cycle = 0; cycle < cycles; ++cycle) {
        bench = first;
        for (long k = 0; k < steps; ++k) {
            const int64_t before = row.collision;
            row.tick = k;
            row.t = double(k) * p.dt;
            plant(row, bench.w, p);
            tick(row, bench.x, p);
            if (row.collision != before) rebounds[size_t(before)] = dot(p.contact.n_W, row.v_C_des_W);
        }
    }
}

int main(int, char** arguments) {
    const Numbers given = read(arguments[1]);
    const long cycles = std::atol(arguments[2]), steps = long(given.at("steps").at(0));
    const auto p = load<Parameters>(given, "p");
    const auto first =
        std::make_unique<Bench>(Bench{load<Row>(given, "row"), load<State>(given, "x"), load<World>(given, "w")});
    const auto bench = std::make_unique<Bench>();
    std::vector<double> rebounds = given.at("rebounds");

    const auto start = std::chrono::steady_clock::now();
    cycles_of_steps(*bench, *first, p, cycles, steps, rebounds);
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;

    Numbers last = {{"rebounds", rebounds}};
    save(bench->row, "row", last);
    save(bench->x, "x", last);
    save(bench->w, "w", last);
    print_answer(taken.count() / (double(cycles) * double(steps)), last);
}
