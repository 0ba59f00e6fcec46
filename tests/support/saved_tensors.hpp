/// \file What a run saved, read without Baleen.
#pragma once
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace baleen::test {

/// The tensors of the bytes of a safetensors file, all of them fp64: the length of a header, the header, the numbers.
inline std::map<std::string, std::vector<double>> saved_tensors(const std::string& file) {
  std::uint64_t header = 0;
  std::memcpy(&header, file.data(), sizeof header);
  std::map<std::string, std::vector<double>> tensors;
  const nlohmann::json entries = nlohmann::json::parse(file.substr(sizeof header, header));
  for (const auto& [name, entry] : entries.items()) {
    if (name == "__metadata__") continue;
    EXPECT_EQ(entry.at("dtype"), "F64") << name;
    const std::size_t begin = entry.at("data_offsets")[0], end = entry.at("data_offsets")[1];
    std::vector<double>& numbers = tensors[name];
    numbers.resize((end - begin) / sizeof(double));
    std::memcpy(numbers.data(), file.data() + sizeof header + header + begin, end - begin);
  }
  return tensors;
}

}  // namespace baleen::test
