/// \file Tensors of a checkpoint, as a file of safetensors has them.
#pragma once
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "parity/parity_run.hpp"

namespace baleen::test {

struct SavedTensor {
  std::vector<std::int64_t> shape;
  std::vector<float> numbers;
};

/// Those whose names begin and end so.
inline std::map<std::string, SavedTensor> tensors_of(const std::string& checkpoint, const std::string& begin,
                                                     const std::string& end) {
  const TemporaryFolder folder;
  const std::string file = folder / "all.safetensors";
  const ProcessResult result = run_baleen({"checkpoint", "export", checkpoint, file, "--all"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::string bytes = read_file(file);
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  std::map<std::string, SavedTensor> found;
  const nlohmann::json said = nlohmann::json::parse(bytes.substr(8, header));
  for (const auto& [name, one] : said.items()) {
    if (!name.starts_with(begin) || !name.ends_with(end) || !one.contains("shape")) continue;
    SavedTensor tensor{one.at("shape").get<std::vector<std::int64_t>>(), {}};
    const auto from = one.at("data_offsets").at(0).get<std::size_t>(),
               to = one.at("data_offsets").at(1).get<std::size_t>();
    tensor.numbers.resize((to - from) / sizeof(float));
    std::memcpy(tensor.numbers.data(), bytes.data() + 8 + header + from, to - from);
    found[name] = std::move(tensor);
  }
  return found;
}

}  // namespace baleen::test
