/// \file What every checkpoint format must do: the same bits come back, and what is damaged is refused.
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "baleen/checkpoint.h"
#include "baleen/host.hpp"
#include "frontend/validate/cases.hpp"
#include "frontend/validate/checkpoint_format.hpp"

namespace baleen::validate {
namespace {

constexpr char kUnread = '\x5a';

std::string file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::ptrdiff_t files_beside(const std::string& path) {
  const std::filesystem::directory_iterator all(std::filesystem::path(path).parent_path());
  return std::distance(begin(all), end(all));
}

void must_give_back(Format& format, const std::vector<NamedBytes>& written) {
  const auto found = format.must_read();
  for (const NamedBytes& one : written) {
    const auto same = found.find(one.name);
    if (same == found.end()) throw Failure("tensor `" + one.name + "` does not come back");
    if (same->second.dtype != one.dtype || same->second.shape != one.shape)
      throw Failure("tensor `" + one.name + "` comes back with another dtype or shape");
    if (same->second.bytes != one.bytes) throw Failure("tensor `" + one.name + "` comes back with other bytes");
  }
  if (found.size() != written.size()) throw Failure("more tensors come back than were written");
}

void gives_bits_back(const Subject& subject, Mark& mark) {
  Format format(subject, mark);
  format.write(all_tensors());
  must_give_back(format, all_tensors());
  // No parameter has one of 8 bits, so a format may refuse them.
  for (const baleen_dtype_t dtype : {BALEEN_E4M3, BALEEN_E5M2}) {
    const std::vector<NamedBytes> eighths = {tensor_of("eighths", dtype, {3, 5})};
    const baleen_status_t status = format.try_write(format.path, eighths);
    if (status != BALEEN_OK)
      format.plugin.refusal("`write`", status);
    else
      must_give_back(format, eighths);
  }
  format.write({});
  if (!format.must_read().empty()) throw Failure("a file of no tensors gives some back");
}

/// A file that is open for reading.
class Reading {
 public:
  explicit Reading(const Format& format) : format_(format) {
    const auto& table = format.table;
    format.plugin.ok("`open`", table.open, format.plugin.host(), abi(format.path), &reader_);
    const baleen_string_t* facts = nullptr;
    std::uint64_t fact_count = 0;
    format.plugin.ok("`list`", table.list, reader_, &tensors_, &count_, &facts, &fact_count);
  }
  Reading(const Reading&) = delete;
  void close() { format_.plugin.call("`close`", format_.table.close, reader_); }

  std::uint64_t count() const { return count_; }
  /// Throws Failure where the bytes are not those of the tensor of this name; `how` it is read.
  void must_give(std::uint64_t number, const std::map<std::string, std::string>& bytes, const char* how) const {
    const std::string name(view(tensors_[number].name));
    const auto written = bytes.find(name);
    if (written == bytes.end() || written->second.size() != tensors_[number].bytes)
      throw Failure("`list` gives a tensor `" + name + "` of other bytes than were written");
    std::string found(written->second.size(), kUnread);
    format_.plugin.ok("`read`", format_.table.read, reader_, number, static_cast<void*>(found.data()),
                      std::uint64_t{found.size()});
    if (found != written->second) throw Failure("tensor `" + name + "` has other bytes where it is read " + how);
  }

 private:
  const Format& format_;
  void* reader_ = nullptr;
  const baleen_named_tensor_t* tensors_ = nullptr;
  std::uint64_t count_ = 0;
};

void reads_in_any_order(const Subject& subject, Mark& mark) {
  Format format(subject, mark);
  const std::vector<NamedBytes> tensors = all_tensors();
  format.write(tensors);
  std::map<std::string, std::string> bytes;
  for (const NamedBytes& one : tensors) bytes[one.name] = one.bytes;
  Reading first(format), second(format);
  for (std::uint64_t i = first.count(); i-- > 0;) first.must_give(i, bytes, "from the last one to the first");
  for (std::uint64_t i = 0; i < first.count(); ++i) {
    first.must_give(i, bytes, "a second time");
    second.must_give(second.count() - 1 - i, bytes, "by a second reader, in turn with the first");
  }
  first.close();
  second.must_give(0, bytes, "when another reader has been closed");
  second.close();
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

/// While this lives, a write beyond so many bytes of a file fails, as on a full disk.
class FullDisk {
 public:
  FullDisk() {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &usual_);
    const rlimit small{16384, usual_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  FullDisk(const FullDisk&) = delete;
  ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &usual_); }

 private:
  rlimit usual_{};
};

/// `name` is the function that wrote, or tried to.
void must_have_kept(const Format& format, const std::string& earlier, const std::string& name) {
  if (file_bytes(format.path) != earlier)
    throw Failure("where the disk is full, " + name +
                  " spoils the file that was there; write a file beside it, sync "
                  "it, then rename it");
  if (files_beside(format.path) != 1) throw Failure("where the disk is full, " + name + " leaves files");
}

void keeps_the_old_file(const Subject& subject, Mark& mark) {
  Format format(subject, mark);
  format.write({tensor_of("old", BALEEN_F32, {4})});
  const std::string earlier = file_bytes(format.path);
  const std::vector<NamedBytes> tensors = {tensor_of("big", BALEEN_F32, {100'000})};
  baleen_status_t status = BALEEN_OK;
  {
    const FullDisk full;
    status = format.try_write(format.path, tensors);
  }
  if (status == BALEEN_OK) throw Failure("`write` returns OK where the disk is full");
  format.plugin.refusal("`write`", status);
  must_have_kept(format, earlier, "`write`");
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

void keeps_the_old_file_of_pieces(const Subject& subject, Mark& mark) {
  Format format(subject, mark);
  InPieces file(format);
  if (!file.pieces) return;
  format.write({tensor_of("old", BALEEN_F32, {4})});
  const std::string earlier = file_bytes(format.path);
  const std::vector<NamedBytes> tensors = {tensor_of("big", BALEEN_F32, {100'000})};
  const char* name = "`begin`";
  baleen_status_t status = BALEEN_OK;
  {
    const FullDisk full;
    status = file.try_begin(tensors);
    for (std::size_t at = 0; status == BALEEN_OK && at < tensors[0].bytes.size(); at += 4096)
      status = file.append(0, std::string_view(tensors[0].bytes).substr(at, 4096)), name = "`append`";
    if (status == BALEEN_OK) status = file.commit(), name = "`commit`";
  }
  if (status == BALEEN_OK) throw Failure("`commit` returns OK where the disk is full");
  format.plugin.refusal(name, status);
  if (file.writer) file.end();
  must_have_kept(format, earlier, "a file of pieces");
}

/// Null for what nobody knows, whole tables for the rest.
void answers_queries(const Subject& subject, Mark& mark) {
  const Format format(subject, mark);
  if (!format.table.query) throw Skip("it has no extensions");
  const auto answer = [&](const char* name) {
    return format.plugin.call("`query` of " + std::string(name), format.table.query, abi(name));
  };
  if (answer("no.such.extension/1")) throw Failure("`query` gives a table for an extension that nobody knows");
  const auto* const shards = static_cast<const baleen_checkpoint_shards_t*>(answer(BALEEN_CHECKPOINT_SHARDS));
  if (shards && (!shards->write || !shards->commit || !shards->open || !shards->list || !shards->read ||
                 !shards->close || !shards->remove || !shards->verify))
    throw Failure("`query` gives a table of shards that lacks functions");
}

}  // namespace

std::vector<Case> checkpoint_cases() {
  return {
      {"checkpoint.bits", "tensors of every dtype come back bit for bit", &gives_bits_back},
      {"checkpoint.order", "tensors are read in any order, again, and by two readers at once", &reads_in_any_order},
      {"checkpoint.facts", "facts come back as they were", &gives_facts_back},
      {"checkpoint.replaces", "a file is replaced whole, and nothing is left beside it", &replaces_whole_files},
      {"checkpoint.full_disk", "fails where the disk is full, and keeps the file that was there", &keeps_the_old_file},
      {"checkpoint.missing", "names what is missing, in writing and reading", &refuses_a_missing_folder},
      {"checkpoint.cut", "refuses a file that is cut anywhere", &refuses_cut_files},
      {"checkpoint.damaged", "survives a file with any byte changed", &survives_damaged_files},
      {"checkpoint.names", "refuses two tensors of one name", &refuses_two_of_one_name},
      {"checkpoint.pieces", "pieces make the file that whole tensors make", &writes_pieces},
      {"checkpoint.pieces_left", "refuses pieces that lack bytes or are too many, and leaves nothing",
       &refuses_other_pieces},
      {"checkpoint.pieces_full_disk", "pieces fail where the disk is full, and the file that was there is kept",
       &keeps_the_old_file_of_pieces},
      {"checkpoint.query", "gives no table for an extension that nobody knows", &answers_queries},
  };
}

}  // namespace baleen::validate
