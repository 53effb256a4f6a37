// Numbers by dotted name, as hilt calls them: from a text file of lines `name count values...` into records and back.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "records.hpp"

using Numbers = std::map<std::string, std::vector<double>>;

inline Numbers read(const char* path) {
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

// `f(name, number)` for each number of a value: a scalar, an array, or a record with a list of `fields`.
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
    template <class T> void operator()(const std::string& name, T& record) {
        fields(record, [&](const char* part, auto& value) { (*this)(name + "." + part, value); });
    }
};

// Whether any number of the record `top.block` is given: a diagram has only the blocks of its scenario.
inline bool has_block(const Numbers& numbers, const std::string& part) {
    const std::string block = part.substr(0, part.find('.', part.find('.') + 1)) + '.';
    const auto first = numbers.lower_bound(block);
    return first != numbers.end() && first->first.compare(0, block.size(), block) == 0;
}

template <class T> T load(const Numbers& numbers, const std::string& name) {
    std::map<std::string, size_t> used;
    auto take = [&](const std::string& part, double& value) {
        if (numbers.count(part) || has_block(numbers, part)) value = numbers.at(part).at(used[part]++);
    };
    T record{};
    EachNumber<decltype(take)>{take}(name, record);
    return record;
}
template <class T> void save(T& record, const std::string& name, Numbers& numbers) {
    auto give = [&](const std::string& part, double& value) { numbers[part].push_back(value); };
    EachNumber<decltype(give)>{give}(name, record);
}

inline void print_answer(double nanoseconds, const Numbers& last) {
    std::printf("{\"ns\": %.17g, \"last\": {", nanoseconds);
    const char* comma = "";
    for (const auto& [name, values] : last) {
        std::printf("%s\"%s\": [", comma, name.c_str());
        for (size_t i = 0; i < values.size(); ++i) std::printf("%s%.17g", i ? ", " : "", values[i]);
        std::printf("]");
        comma = ", ";
    }
    std::printf("}}\n");
}
