/// \file A small data set for each data plugin. A new member adds its own here.
#pragma once
#include <functional>
#include <map>
#include <random>
#include <string>

#include "support/dataset_run.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {

/// Writes what the member reads and sets its options, such that both parts have rows and all rows differ.
using Sample = std::function<void(const TemporaryFolder&, TestSettings&)>;

inline void sample_text(const TemporaryFolder& folder, TestSettings& settings) {
  std::mt19937 engine(1);
  std::string text(5000, ' ');
  for (char& letter : text) letter = static_cast<char>('a' + engine() % 26);
  settings.set("path", folder.write("sample.txt", text)).set("context", 16).set("held_out", 0.2);
}

inline void sample_table(const TemporaryFolder& folder, TestSettings& settings) {
  std::string csv = "size,colour,maker,parts,kind\n";
  for (int i = 0; i < 200; ++i) {
    csv += std::to_string(0.5 * i) + (i % 3 ? ",red," : ",blue,") + std::to_string((i - 100LL) << 56) + ",";
    for (int part = 0; part < i % 4; ++part) csv += (part ? "|" : "") + std::to_string(1000 * i + part);
    csv += i % 2 ? ",odd\n" : ",even\n";
  }
  settings.set("path", folder.write("sample.csv", csv)).set("held_out", 0.25);
  settings.set("ids", "maker").set("lists", "parts").set("most", 4);
}

inline void sample_synthetic(const TemporaryFolder&, TestSettings& settings) {
  settings.set("context", 16)
      .set("vocab", 1000)
      .set("features", 3)
      .set("classes", 4)
      .set("rows", 200)
      .set("held_out", 50);
  settings.set("fields", "image f32 3 x height=4 x 5\nids i64 6 < 9000000000\npixels u8 7\nmark i32 < 5");
}

inline const std::map<std::string, Sample>& samples() {
  static const std::map<std::string, Sample> all = {
      {"synthetic", sample_synthetic}, {"table", sample_table}, {"text", sample_text}};
  return all;
}

}  // namespace baleen::test
