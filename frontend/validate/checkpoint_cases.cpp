/// \file What every checkpoint format must do: the same bits come back, and what is damaged is refused.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "baleen/checkpoint.h"
#include "baleen/dtype.hpp"
#include "baleen/host.hpp"
#include "frontend/validate/cases.hpp"

namespace baleen::validate {
namespace {

constexpr std::size_t kBehind = 64;  // bytes behind what a tensor is read into
constexpr char kGuardByte = '\x5a';

struct NamedBytes {
  std::string name;
  baleen_dtype_t dtype = BALEEN_F32;
  std::vector<std::int64_t> shape;
  std::string bytes;

  bool operator==(const NamedBytes&) const = default;
};
using Facts = std::map<std::string, std::string>;

/// All bytes are used, also those of NaN patterns.
NamedBytes tensor_of(std::string name, baleen_dtype_t dtype, std::vector<std::int64_t> shape) {
  std::size_t bytes = dtype_size(dtype);
  for (const std::int64_t extent : shape) bytes *= static_cast<std::size_t>(extent);
  NamedBytes tensor{std::move(name), dtype, std::move(shape), std::string(bytes, '\0')};
  for (std::size_t i = 0; i < bytes; ++i) tensor.bytes[i] = static_cast<char>(37 * i + tensor.name.size());
  return tensor;
}

std::vector<NamedBytes> many_tensors() {
  return {tensor_of("blocks.0.weight", BALEEN_F32, {3, 5}),
          tensor_of("odd", BALEEN_U8, {7}),
          tensor_of("double", BALEEN_F64, {2, 1, 2}),
          tensor_of("half", BALEEN_F16, {3}),
          tensor_of("brain", BALEEN_BF16, {5}),
          tensor_of("ids", BALEEN_I64, {2}),
          tensor_of("count", BALEEN_I32, {}),
          tensor_of("empty", BALEEN_F32, {0, 4}),
          tensor_of("na\xc3\xafve \"name\"", BALEEN_F32, {1}),
          tensor_of("deep", BALEEN_F32, {1, 1, 2, 1, 1, 1, 1, 2})};
}

/// Tensors and facts as the table takes them; they borrow.
struct Told {
  Told(const std::vector<NamedBytes>& given, const Facts& facts, bool with_data) {
    for (const NamedBytes& one : given) {
      baleen_named_tensor_t& told = tensors.emplace_back();
      told.name = abi(one.name);
      told.dtype = one.dtype;
      told.rank = static_cast<std::uint32_t>(one.shape.size());
      std::ranges::copy(one.shape, told.shape);
      told.bytes = one.bytes.size();
      if (with_data) told.data = const_cast<char*>(one.bytes.data());
    }
    for (const auto& [name, text] : facts) pairs.insert(pairs.end(), {abi(name), abi(text)});
  }
  std::vector<baleen_named_tensor_t> tensors;
  std::vector<baleen_string_t> pairs;
};

/// A format in the hands of a case, and a file in the case's folder.
struct Format {
  Format(const Subject& subject, Mark& mark)
      : plugin(subject, mark),
        table(plugin.table<baleen_checkpoint_t>()),
        path((subject.scratch / ("file." + subject.descriptor.extension)).string()) {}

  baleen_status_t try_write(const std::string& to, const std::vector<NamedBytes>& tensors, const Facts& facts = {}) {
    const Told told(tensors, facts, true);
    return plugin.call("`write`", table.write, plugin.host(), abi(to), told.tensors.data(),
                       std::uint64_t{told.tensors.size()}, told.pairs.data(), std::uint64_t{facts.size()});
  }
  void write(const std::vector<NamedBytes>& tensors, const Facts& facts = {}) {
    const baleen_status_t status = try_write(path, tensors, facts);
    if (status != BALEEN_OK) throw Failure("`write` fails: " + plugin.refusal("`write`", status).message);
  }

  /// Nothing where the file is refused; its reason goes to `why`.
  bool read(const std::string& from, std::map<std::string, NamedBytes>& found, Facts& facts, std::string& why) {
    void* reader = nullptr;
    baleen_status_t status = plugin.call("`open`", table.open, plugin.host(), abi(from), &reader);
    if (status != BALEEN_OK) {
      why = plugin.refusal("`open`", status).message;
      return false;
    }
    const baleen_named_tensor_t* tensors = nullptr;
    const baleen_string_t* pairs = nullptr;
    std::uint64_t count = 0, fact_count = 0;
    plugin.ok("`list`", table.list, reader, &tensors, &count, &pairs, &fact_count);
    bool is_whole = true;
    for (std::uint64_t i = 0; i < count && is_whole; ++i) {
      NamedBytes one{std::string(view(tensors[i].name)), tensors[i].dtype, {}, {}};
      if (tensors[i].rank > BALEEN_MAX_RANK)
        throw Failure("`list` gives a tensor of rank " + std::to_string(tensors[i].rank));
      one.shape.assign(tensors[i].shape, tensors[i].shape + tensors[i].rank);
      one.bytes.assign(tensors[i].bytes + kBehind, kGuardByte);
      status = plugin.call("`read`", table.read, reader, i, static_cast<void*>(one.bytes.data()), tensors[i].bytes);
      is_whole = status == BALEEN_OK;
      if (!is_whole) {
        why = plugin.refusal("`read`", status).message;
        continue;
      }
      const std::string behind = one.bytes.substr(tensors[i].bytes);
      if (behind != std::string(kBehind, kGuardByte))
        throw Failure("`read` of `" + one.name + "` writes behind its bytes");
      one.bytes.resize(tensors[i].bytes);
      if (!found.emplace(one.name, one).second) throw Failure("`list` gives `" + one.name + "` twice");
    }
    for (std::uint64_t i = 0; i < fact_count; ++i) facts[std::string(view(pairs[2 * i]))] = view(pairs[2 * i + 1]);
    plugin.call("`close`", table.close, reader);
    return is_whole;
  }
  std::map<std::string, NamedBytes> must_read(Facts* facts = nullptr) {
    std::map<std::string, NamedBytes> found;
    Facts told;
    std::string why;
    if (!read(path, found, told, why)) throw Failure("what it has written it cannot read: " + why);
    if (facts) *facts = told;
    return found;
  }

  Opened plugin;
  const baleen_checkpoint_t& table;
  std::string path;
};

std::string file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::ptrdiff_t files_beside(const std::string& path) {
  const std::filesystem::directory_iterator all(std::filesystem::path(path).parent_path());
  return std::distance(begin(all), end(all));
}

void gives_bits_back(const Subject& subject, Mark& mark) {
  Format format(subject, mark);
  format.write(many_tensors());
  const auto found = format.must_read();
  for (const NamedBytes& one : many_tensors()) {
    const auto same = found.find(one.name);
    if (same == found.end()) throw Failure("tensor `" + one.name + "` does not come back");
    if (same->second.dtype != one.dtype || same->second.shape != one.shape)
      throw Failure("tensor `" + one.name + "` comes back with another dtype or shape");
    if (same->second.bytes != one.bytes) throw Failure("tensor `" + one.name + "` comes back with other bytes");
  }
  if (found.size() != many_tensors().size()) throw Failure("more tensors come back than were written");
  format.write({});
  if (!format.must_read().empty()) throw Failure("a file of no tensors gives some back");
}

void gives_facts_back(const Subject& subject, Mark& mark) {
  Format format(subject, mark);
  const Facts facts = {{"baleen.step", "120"}, {"note", "line\nbreak, \"quotes\", \xc3\xbcmlaut"}, {"empty", ""}};
  format.write({tensor_of("w", BALEEN_F32, {1})}, facts);
  Facts found;
  format.must_read(&found);
  for (const auto& [name, text] : facts)
    if (!found.contains(name) || found[name] != text) throw Failure("fact `" + name + "` does not come back as it was");
}

void replaces_whole_files(const Subject& subject, Mark& mark) {
  Format format(subject, mark);
  format.write({tensor_of("old", BALEEN_F32, {100})});
  format.write({tensor_of("new", BALEEN_F32, {2})});
  const auto found = format.must_read();
  if (found.size() != 1 || !found.contains("new"))
    throw Failure("of a file that is written again the old tensors stay");
  if (files_beside(format.path) != 1) throw Failure("leaves files beside the one that it has written");
}

void refuses_a_missing_folder(const Subject& subject, Mark& mark) {
  Format format(subject, mark);
  const std::string nowhere = (subject.scratch / "missing" / "file").string();
  const baleen_status_t status = format.try_write(nowhere, {tensor_of("w", BALEEN_F32, {1})});
  if (status == BALEEN_OK) throw Failure("`write` returns OK where the folder is missing");
  if (format.plugin.refusal("`write`", status).message.find("missing") == std::string::npos)
    throw Failure("`write` does not name the file that it cannot make");
  std::map<std::string, NamedBytes> found;
  Facts facts;
  std::string why;
  if (format.read(nowhere, found, facts, why)) throw Failure("`open` returns OK for a file that is missing");
  if (why.find("missing") == why.npos) throw Failure("`open` does not name the file that is missing: " + why);
}

void refuses_cut_files(const Subject& subject, Mark& mark) {
  Format format(subject, mark);
  format.write({tensor_of("a", BALEEN_F32, {5}), tensor_of("b", BALEEN_U8, {3})});
  const std::string whole = file_bytes(format.path), cut = format.path + ".cut." + subject.descriptor.extension;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    std::ofstream(cut, std::ios::binary) << whole.substr(0, size);
    std::map<std::string, NamedBytes> found;
    Facts facts;
    std::string why;
    if (format.read(cut, found, facts, why))
      throw Failure("reads a file that was cut to " + std::to_string(size) + " of " + std::to_string(whole.size()) +
                    " bytes");
  }
}

/// It may read them or not; it must not crash, nor say what makes no sense.
void survives_damaged_files(const Subject& subject, Mark& mark) {
  Format format(subject, mark);
  format.write({tensor_of("a", BALEEN_F32, {5}), tensor_of("b", BALEEN_U8, {3})});
  const std::string whole = file_bytes(format.path), damaged = format.path + ".bad." + subject.descriptor.extension;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string other = whole;
    other[at] = static_cast<char>(~other[at]);
    std::ofstream(damaged, std::ios::binary) << other;
    std::map<std::string, NamedBytes> found;
    Facts facts;
    std::string why;
    format.read(damaged, found, facts, why);
  }
}

void refuses_two_of_one_name(const Subject& subject, Mark& mark) {
  Format format(subject, mark);
  const baleen_status_t status =
      format.try_write(format.path, {tensor_of("w", BALEEN_F32, {1}), tensor_of("w", BALEEN_F32, {2})});
  if (status == BALEEN_OK) throw Failure("`write` takes two tensors of one name");
  format.plugin.refusal("`write`", status);
}

/// A file that is written piece by piece; null `pieces` where the format takes none.
struct InPieces {
  explicit InPieces(Format& of) : format(of) {
    if (!format.table.query) return;
    pieces = static_cast<const baleen_checkpoint_pieces_t*>(
        format.plugin.call("`query`", format.table.query, abi(BALEEN_CHECKPOINT_PIECES)));
    if (pieces && (!pieces->begin || !pieces->append || !pieces->commit || !pieces->end))
      throw Failure("`query` gives a table of pieces that lacks functions");
  }
  ~InPieces() {
    if (writer) pieces->end(writer);
  }
  baleen_status_t try_begin(const std::vector<NamedBytes>& tensors, const Facts& facts = {}) {
    const Told told(tensors, facts, false);
    return format.plugin.call("`begin`", pieces->begin, format.plugin.host(), abi(format.path), told.tensors.data(),
                              std::uint64_t{told.tensors.size()}, told.pairs.data(), std::uint64_t{facts.size()},
                              &writer);
  }
  void begin(const std::vector<NamedBytes>& tensors, const Facts& facts = {}) {
    const baleen_status_t status = try_begin(tensors, facts);
    if (status != BALEEN_OK) throw Failure("`begin` fails: " + format.plugin.refusal("`begin`", status).message);
  }
  baleen_status_t append(std::uint64_t number, std::string_view bytes) {
    return format.plugin.call("`append`", pieces->append, writer, number, static_cast<const void*>(bytes.data()),
                              std::uint64_t{bytes.size()});
  }
  /// Of each tensor in turn at most so many bytes, from the last tensor to the first.
  void append_all(const std::vector<NamedBytes>& tensors, std::size_t at_once) {
    std::size_t longest = 0;
    for (const NamedBytes& one : tensors) longest = std::max(longest, one.bytes.size());
    for (std::size_t at = 0; at < longest; at += at_once)
      for (std::size_t i = tensors.size(); i-- > 0;) {
        if (at >= tensors[i].bytes.size()) continue;
        const baleen_status_t status = append(i, std::string_view(tensors[i].bytes).substr(at, at_once));
        if (status != BALEEN_OK) throw Failure("`append` fails: " + format.plugin.refusal("`append`", status).message);
      }
  }
  baleen_status_t commit() { return format.plugin.call("`commit`", pieces->commit, writer); }
  void end() { format.plugin.call("`end`", pieces->end, std::exchange(writer, nullptr)); }

  Format& format;
  const baleen_checkpoint_pieces_t* pieces = nullptr;
  void* writer = nullptr;
};

void writes_pieces(const Subject& subject, Mark& mark) {
  Format format(subject, mark);
  InPieces file(format);
  if (!file.pieces) return;
  const std::vector<NamedBytes> tensors = many_tensors();
  const Facts facts = {{"baleen.step", "120"}};
  format.write(tensors, facts);
  const std::string whole = file_bytes(format.path);
  for (const std::size_t at_once : {std::size_t{3}, std::size_t{8}, std::size_t{1} << 20}) {
    std::filesystem::remove(format.path);
    file.begin(tensors, facts);
    file.append_all(tensors, at_once);
    if (std::filesystem::exists(format.path)) throw Failure("the file has its place before it is committed");
    if (const baleen_status_t status = file.commit(); status != BALEEN_OK)
      throw Failure("`commit` fails: " + format.plugin.refusal("`commit`", status).message);
    file.end();
    if (file_bytes(format.path) != whole)
      throw Failure("pieces of " + std::to_string(at_once) + " bytes make another file than `write` does");
  }
}

void refuses_other_pieces(const Subject& subject, Mark& mark) {
  Format format(subject, mark);
  InPieces file(format);
  if (!file.pieces) return;
  const std::vector<NamedBytes> tensors = {tensor_of("a", BALEEN_F32, {5}), tensor_of("b", BALEEN_U8, {3})};
  format.write({tensor_of("earlier", BALEEN_F32, {2})});
  const std::string earlier = file_bytes(format.path);
  const auto refused = [&](const char* name, baleen_status_t status, const std::string& what) {
    if (status == BALEEN_OK) throw Failure(std::string(name) + " takes " + what);
    format.plugin.refusal(name, status);
  };
  refused("`begin`", file.try_begin({tensors[0], tensors[0]}), "two tensors of one name");
  file.begin(tensors);
  refused("`append`", file.append(2, "x"), "bytes of a tensor that there is not");
  refused("`append`", file.append(1, "four"), "more bytes than a tensor has");
  const auto taken = [&](baleen_status_t status) {
    if (status != BALEEN_OK) throw Failure("`append` fails: " + format.plugin.refusal("`append`", status).message);
  };
  taken(file.append(0, std::string_view(tensors[0].bytes).substr(0, 19)));
  taken(file.append(1, tensors[1].bytes));
  refused("`commit`", file.commit(), "a tensor that lacks a byte");
  file.end();
  if (file_bytes(format.path) != earlier) throw Failure("what was not committed has changed the file");
  if (files_beside(format.path) != 1) throw Failure("what was not committed leaves files");
}

}  // namespace

std::vector<Case> checkpoint_cases() {
  return {
      {"checkpoint.bits", "tensors of every dtype come back bit for bit", &gives_bits_back},
      {"checkpoint.facts", "facts come back as they were", &gives_facts_back},
      {"checkpoint.replaces", "a file is replaced whole, and nothing is left beside it", &replaces_whole_files},
      {"checkpoint.missing", "names what is missing, in writing and reading", &refuses_a_missing_folder},
      {"checkpoint.cut", "refuses a file that is cut anywhere", &refuses_cut_files},
      {"checkpoint.damaged", "survives a file with any byte changed", &survives_damaged_files},
      {"checkpoint.names", "refuses two tensors of one name", &refuses_two_of_one_name},
      {"checkpoint.pieces", "pieces make the file that whole tensors make", &writes_pieces},
      {"checkpoint.pieces_left", "refuses pieces that lack bytes or are too many, and leaves nothing",
       &refuses_other_pieces},
  };
}

}  // namespace baleen::validate
