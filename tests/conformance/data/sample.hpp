/// \file A small data set for each data plugin. A new member adds its own here.
#pragma once
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

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

/// The same with a tokenizer from a file, ids of documents, and the cache of ids.
inline void sample_text_trained(const TemporaryFolder& folder, TestSettings& settings) {
  std::mt19937 engine(1);
  std::string text;
  for (int i = 0; i < 3000; ++i) text += std::string(1, static_cast<char>('a' + engine() % 8)) + (i % 9 ? " " : "\n");
  settings.set("path", folder.write("sample.txt", text)).set("context", 16).set("held_out", 0.2);
  settings.set("documents", "lines").set("separator", "[SEP]").set("mask_boundaries", "true");
  settings.set("tokenizer", folder.write("vocab.txt", "[PAD]\n[UNK]\n[SEP]\na\nb\nc\nd\ne\nf\ng\nh\n"));
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
  static const std::map<std::string, Sample> all = {{"synthetic", sample_synthetic},
                                                    {"table", sample_table},
                                                    {"text", sample_text},
                                                    {"text.trained", sample_text_trained}};
  return all;
}

/// A sample's member: its name up to a dot, behind which stands what is special about the sample.
inline std::string member_of(const std::string& sample) { return sample.substr(0, sample.find('.')); }

/// The samples of these members; a member without any is in it by itself, so that its case says so.
inline std::vector<std::string> samples_of(const std::vector<std::string>& members) {
  std::vector<std::string> names;
  for (const std::string& member : members) {
    const std::size_t before = names.size();
    for (const auto& [sample, make] : samples())
      if (member_of(sample) == member) names.push_back(sample);
    if (names.size() == before) names.push_back(member);
  }
  return names;
}

/// A sample's name as a part of a case's.
inline std::string case_name(std::string sample) {
  for (char& letter : sample)
    if (letter == '.') letter = '_';
  return sample;
}

}  // namespace baleen::test
