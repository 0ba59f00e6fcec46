/// \file A saved model with a number that is none.
#pragma once
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>

#include "support/process.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {

/// Makes a number of a tensor in a file of safetensors, fp32, NaN; the first of it unless told.
inline void set_to_nan(const std::string& file, const std::string& tensor, std::size_t number = 0) {
  const std::string text = read_file(file);
  std::uint64_t header = 0;
  std::memcpy(&header, text.data(), sizeof header);
  const std::size_t name = text.find("\"" + tensor + "\":");
  ASSERT_LT(name, header) << tensor;
  const std::string key = "\"data_offsets\":[";
  const std::size_t begin = std::stoul(text.substr(text.find(key, name) + key.size()));
  const float bad = std::numeric_limits<float>::quiet_NaN();
  std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
  out.seekp(static_cast<std::streamoff>(sizeof header + header + begin + number * sizeof(float)));
  out.write(reinterpret_cast<const char*>(&bad), sizeof bad);
  ASSERT_TRUE(out.flush());
}

}  // namespace baleen::test
