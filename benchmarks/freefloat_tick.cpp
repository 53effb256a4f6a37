// Times the tick of freefloat.hpp.
//
//     freefloat_tick NUMBERS CYCLES
//
// NUMBERS is a text file of lines `name count values...`: parameters (p.), first state (x.), first signals (row.) and the
// wrenches. Each cycle starts from the first state and feeds all wrenches. One line of JSON tells the time of a tick and
// every number of the last state and signals, under the names of hilt.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "freefloat.hpp"

// `f(name, value)` for each field: one list to read them and to write them.
template <class F> void fields(Parameters& p, F f) {
    f("p.dt", p.dt);
    f("p.wrench.q_BS", p.q_BS); f("p.wrench.p_BcmSo_B", p.p_BcmSo_B);
    f("p.translation.mass", p.mass); f("p.translation.threshold", p.threshold);
    f("p.translation.axes", p.axes); f("p.translation.kind", p.kind);
    f("p.rotation.inverse_inertia", p.inverse_inertia); f("p.rotation.rotates", p.rotates);
    f("p.setpoint.p_BoBcm_B", p.p_BoBcm_B);
    f("p.guard.force", p.force); f("p.guard.torque", p.torque);
    f("p.guard.speed", p.speed); f("p.guard.angular_speed", p.angular_speed);
    f("p.guard.acceleration", p.acceleration); f("p.guard.energy", p.energy);
    f("p.guard.workspace_min", p.workspace_min); f("p.guard.workspace_max", p.workspace_max);
}
template <class F> void fields(State& x, F f) {
    f("x.translation.p", x.p); f("x.translation.v", x.v); f("x.translation.force_before", x.force_before);
    f("x.translation.observer", x.observer); f("x.translation.observer_free", x.observer_free);
    f("x.translation.integrator", x.integrator); f("x.translation.controller", x.controller);
    f("x.rotation.q", x.q); f("x.rotation.L_W", x.L_W); f("x.rotation.made", x.made);
    f("x.guard.p", x.guard_p); f("x.guard.v", x.guard_v); f("x.guard.q", x.guard_q); f("x.guard.moving", x.moving);
}
template <class F> void fields(Row& r, F f) {
    f("row.fault", r.fault); f("row.fault_axis", r.fault_axis);
    f("row.fault_value", r.fault_value); f("row.fault_limit", r.fault_limit);
    f("row.X_WB_meas", r.X_WB_meas); f("row.F_So_S", r.F_So_S); f("row.F_Bcm_W", r.F_Bcm_W);
    f("row.X_WBcm", r.X_WBcm); f("row.V_WBcm", r.V_WBcm); f("row.X_WBcm_next", r.X_WBcm_next);
    f("row.L_W", r.L_W); f("row.H", r.H); f("row.H_rot", r.H_rot);
    f("row.v_pc", r.v_pc); f("row.v_c", r.v_c); f("row.beta", r.beta);
    f("row.E_obs", r.E_obs); f("row.E_obs_free", r.E_obs_free); f("row.X_WB_des", r.X_WB_des);
    f("row.W_controller", r.W_controller); f("row.W_integrator", r.W_integrator); f("row.W_rotation", r.W_rotation);
}using Numbers = std::map<std::string, std::vector<double>>;

// `f(name, number)` for each number of a field.
template <class F> struct EachNumber {
    F f;
    void operator()(const std::string& name, double& value) { f(name, value); }
    void operator()(const std::string& name, int64_t& value) {
        double number = double(value);
        f(name, number);
        value = int64_t(number);
    }
    template <class T, size_t N> void operator()(const std::string& name, std::array<T, N>& values) {
        for (T& value : values) (*this)(name, value);
    }
    void operator()(const std::string& name, Port& a) { (*this)(name + ".into", a.into); (*this)(name + ".out", a.out); }
    void operator()(const std::string& name, Pose& a) { (*this)(name + ".p", a.p); (*this)(name + ".q", a.q); }
    void operator()(const std::string& name, Twist& a) { (*this)(name + ".v", a.v); (*this)(name + ".w", a.w); }
    void operator()(const std::string& name, Wrench& a) { (*this)(name + ".f", a.f); (*this)(name + ".tau", a.tau); }
};

template <class T> T load(const Numbers& numbers) {
    std::map<std::string, size_t> used;
    auto take = [&](const std::string& name, double& value) { value = numbers.at(name).at(used[name]++); };
    T record{};
    fields(record, EachNumber<decltype(take)>{take});
    return record;
}
template <class T> void save(T& record, Numbers& numbers) {
    auto give = [&](const std::string& name, double& value) { numbers[name].push_back(value); };
    fields(record, EachNumber<decltype(give)>{give});
}

static Numbers read(const char* path) {
    std::ifstream file(path);
    Numbers numbers;
    std::string name, text;
    for (size_t count; file >> name >> count;)
        while (count--) {
            file >> text;
            numbers[name].push_back(std::strtod(text.c_str(), nullptr));
        }
    return numbers;
}

int main(int, char** arguments) {
    const Numbers given = read(arguments[1]);
    const long cycles = std::atol(arguments[2]);
    const Parameters p = load<Parameters>(given);
    const Row first_row = load<Row>(given);
    const State first_state = load<State>(given);
    const std::vector<double>& flat = given.at("wrenches");
    std::vector<Wrench> wrenches;
    for (size_t k = 0; k < flat.size(); k += 6)
        wrenches.push_back({{flat[k], flat[k + 1], flat[k + 2]}, {flat[k + 3], flat[k + 4], flat[k + 5]}});

    Row row;
    State x;
    const auto start = std::chrono::steady_clock::now();
    for (long cycle = 0; cycle < cycles; ++cycle) {
        row = first_row;
        x = first_state;
        for (const Wrench& wrench : wrenches) {
            row.X_WB_meas = row.X_WB_des;  // a robot that is where it should be
            row.F_So_S = wrench;
            tick(row, x, p);
        }
    }
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;

    Numbers last;
    save(row, last);
    save(x, last);
    std::printf("{\"ns_per_tick\": %.17g, \"last\": {", taken.count() / (double(cycles) * double(wrenches.size())));
    const char* comma = "";
    for (const auto& [name, values] : last) {
        std::printf("%s\"%s\": [", comma, name.c_str());
        for (size_t i = 0; i < values.size(); ++i) std::printf("%s%.17g", i ? ", " : "", values[i]);
        std::printf("]");
        comma = ", ";
    }
    std::printf("}}\n");
}
