/// \file A sound small format of named tensors; DEFECT says what is wrong with it.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "baleen/checkpoint.h"
#include "baleen/plugin.hpp"

#define WORD_(x) #x
#define WORD(x) WORD_(x)

BALEEN_DESCRIPTOR("checkpoint", WORD(DEFECT), "1.0.0", "Apache-2.0", "Wrong or sound", -1, "planted",
                  BALEEN_NO_OPTIONS);

namespace {

using namespace baleen;

enum Defect {
  sound,
  drops_bytes,
  loses_facts,
  leaves_files,
  hides_files,
  takes_cut_files,
  trusts_files,
  takes_twins,
  reads_beyond,
  joins_pieces,
  commits_early,
  writes_in_place,
  hides_full_disk,
  reads_in_turn,
  reads_a_part,
  reads_once,
  narrow_extents,
  knows_all
};
constexpr Defect kDefect = DEFECT;

struct Reader {
  Host host;
  std::string bytes;
  std::size_t at = 0;
  bool is_sound = true;
  std::vector<baleen_named_tensor_t> tensors;
  std::vector<std::size_t> places;
  std::vector<baleen_string_t> facts;
  std::set<std::uint64_t> given;  ///< numbers of what was read

  std::uint64_t number() {
    std::uint64_t value = 0;
    if (!has(sizeof value)) return 0;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    at += sizeof value;
    return value;
  }
  bool has(std::uint64_t count) {
    is_sound = is_sound && (kDefect == trusts_files || (at <= bytes.size() && count <= bytes.size() - at));
    return is_sound;
  }
  baleen_string_t text() {
    const std::uint64_t size = number();
    if (!has(size)) return {"", 0};
    const baleen_string_t found{bytes.data() + at, size};
    at += size;
    return found;
  }
};

void put(std::string& out, std::uint64_t number) { out.append(reinterpret_cast<const char*>(&number), sizeof number); }
void put(std::string& out, baleen_string_t text) {
  put(out, text.size);
  out.append(text.data, text.size);
}

baleen_status_t write(const baleen_host_t* table, baleen_string_t path, const baleen_named_tensor_t* tensors,
                      std::uint64_t count, const baleen_string_t* facts, std::uint64_t fact_count) {
  const Host host(table);
  std::string out;
  std::set<std::string_view> names;
  if (kDefect == loses_facts) fact_count = 0;
  put(out, count);
  put(out, fact_count);
  for (std::uint64_t i = 0; i < 2 * fact_count; ++i) put(out, facts[i]);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!names.insert(view(tensors[i].name)).second && kDefect != takes_twins)
      return host.fail(BALEEN_INVALID, "two tensors have one name");
    put(out, tensors[i].name);
    put(out, static_cast<std::uint64_t>(tensors[i].dtype));
    put(out, tensors[i].rank);
    for (std::uint32_t d = 0; d < tensors[i].rank; ++d) put(out, static_cast<std::uint64_t>(tensors[i].shape[d]));
    put(out, baleen_string_t{static_cast<const char*>(tensors[i].data), tensors[i].bytes});
    if (kDefect == drops_bytes && tensors[i].bytes > 4) out.back() = 0;
  }
  put(out, std::uint64_t{77});
  const std::string name(view(path)), beside = kDefect == writes_in_place ? name : name + ".partial";
  std::ofstream file(beside, std::ios::binary);
  file << out;
  file.close();
  if (kDefect == leaves_files) std::ofstream(name + ".log") << "written";
  if ((!file && kDefect != hides_full_disk) || std::rename(beside.c_str(), name.c_str()) != 0) {
    std::remove(beside.c_str());
    return host.fail(BALEEN_IO, kDefect == hides_files ? "cannot be written" : name + ": cannot be written");
  }
  return BALEEN_OK;
}

baleen_status_t open_file(const baleen_host_t* table, baleen_string_t path, void** out) {
  auto reader = std::make_unique<Reader>(Reader{Host(table), {}, 0, true, {}, {}, {}, {}});
  const std::string name(view(path));
  std::ifstream file(name, std::ios::binary);
  if (!file) return reader->host.fail(BALEEN_NOT_FOUND, name + ": cannot be opened");
  reader->bytes.assign(std::istreambuf_iterator<char>(file), {});
  const std::uint64_t count = reader->number(), facts = reader->number();
  for (std::uint64_t i = 0; i < 2 * facts && reader->is_sound; ++i) reader->facts.push_back(reader->text());
  for (std::uint64_t i = 0; i < count && reader->is_sound; ++i) {
    baleen_named_tensor_t one{};
    one.name = reader->text();
    one.dtype = static_cast<baleen_dtype_t>(reader->number());
    const std::uint64_t rank = reader->number();
    reader->is_sound = reader->is_sound && rank <= BALEEN_MAX_RANK;
    if (!reader->is_sound) break;
    one.rank = static_cast<std::uint32_t>(rank);
    for (std::uint32_t d = 0; d < one.rank; ++d) one.shape[d] = static_cast<std::int64_t>(reader->number());
    if (kDefect == narrow_extents)
      for (std::uint32_t d = 0; d < one.rank; ++d) one.shape[d] &= 255;
    const baleen_string_t data = reader->text();
    one.bytes = data.size;
    reader->places.push_back(reader->at - data.size);
    reader->tensors.push_back(one);
  }
  const bool has_end = reader->number() == 77;
  if ((!reader->is_sound || !has_end) && kDefect != takes_cut_files && kDefect != trusts_files)
    return reader->host.fail(BALEEN_INVALID, name + ": is damaged");
  if (!reader->is_sound) reader->tensors.clear(), reader->facts.clear();
  *out = reader.release();
  return BALEEN_OK;
}

/// Keeps what comes until the end.
struct Writer {
  Host host;
  const baleen_host_t* table;
  std::string path;
  std::vector<std::string> names, texts, bytes;
  std::vector<baleen_named_tensor_t> tensors;
};

baleen_status_t begin_pieces(const baleen_host_t* table, baleen_string_t path, const baleen_named_tensor_t* tensors,
                             std::uint64_t count, const baleen_string_t* facts, std::uint64_t fact_count, void** out) {
  auto writer = std::make_unique<Writer>(Writer{Host(table), table, std::string(view(path)), {}, {}, {}, {}});
  writer->tensors.assign(tensors, tensors + count);
  writer->bytes.resize(count);
  std::set<std::string_view> names;
  for (std::uint64_t i = 0; i < count; ++i) {
    writer->names.emplace_back(view(tensors[i].name));
    if (!names.insert(view(tensors[i].name)).second && kDefect != takes_twins)
      return writer->host.fail(BALEEN_INVALID, "two tensors have one name");
  }
  for (std::uint64_t i = 0; i < 2 * fact_count; ++i) writer->texts.emplace_back(view(facts[i]));
  *out = writer.release();
  return BALEEN_OK;
}

baleen_status_t append_piece(void* self, std::uint64_t number, const void* data, std::uint64_t bytes) {
  auto& writer = *static_cast<Writer*>(self);
  if (number >= writer.bytes.size() || writer.bytes[number].size() + bytes > writer.tensors[number].bytes)
    return writer.host.fail(BALEEN_INTERNAL, "there is no such piece");
  const std::string piece(static_cast<const char*>(data), bytes);
  std::string& own = writer.bytes[number];
  own = kDefect == joins_pieces ? piece + own : own + piece;
  return BALEEN_OK;
}

baleen_status_t commit_pieces(void* self) {
  auto& writer = *static_cast<Writer*>(self);
  std::vector<baleen_string_t> facts;
  for (const std::string& text : writer.texts) facts.push_back(abi(text));
  for (std::size_t i = 0; i < writer.tensors.size(); ++i) {
    if (writer.bytes[i].size() < writer.tensors[i].bytes && kDefect != commits_early)
      return writer.host.fail(BALEEN_INTERNAL, "bytes are missing");
    writer.bytes[i].resize(writer.tensors[i].bytes);
    writer.tensors[i].name = abi(writer.names[i]);
    writer.tensors[i].data = writer.bytes[i].data();
  }
  return write(writer.table, abi(writer.path), writer.tensors.data(), writer.tensors.size(), facts.data(),
               facts.size() / 2);
}

constexpr baleen_checkpoint_pieces_t kPieces{sizeof kPieces, &begin_pieces, &append_piece, &commit_pieces,
                                             [](void* self) { delete static_cast<Writer*>(self); }};

baleen_checkpoint_t planted_table() {
  baleen_checkpoint_t table{};
  table.write = &write;
  table.open = &open_file;
  table.list = [](void* self, const baleen_named_tensor_t** tensors, std::uint64_t* count,
                  const baleen_string_t** facts, std::uint64_t* fact_count) -> baleen_status_t {
    auto& reader = *static_cast<Reader*>(self);
    *tensors = reader.tensors.data();
    *count = reader.tensors.size();
    *facts = reader.facts.data();
    *fact_count = reader.facts.size() / 2;
    return BALEEN_OK;
  };
  table.read = [](void* self, std::uint64_t number, void* data, std::uint64_t bytes) -> baleen_status_t {
    auto& reader = *static_cast<Reader*>(self);
    if (kDefect == reads_in_turn) number = reader.given.size() % reader.places.size();
    if (!reader.given.insert(number).second && kDefect == reads_once) bytes = 0;
    if (kDefect == reads_a_part) bytes = std::min<std::uint64_t>(bytes, 65'536);
    if (bytes > 0) std::memcpy(data, reader.bytes.data() + reader.places[number], bytes);
    if (kDefect == reads_beyond) static_cast<char*>(data)[bytes] = 0;
    return BALEEN_OK;
  };
  table.close = [](void* self) { delete static_cast<Reader*>(self); };
  table.query = [](baleen_string_t name) -> const void* {
    return view(name) == BALEEN_CHECKPOINT_PIECES || kDefect == knows_all ? &kPieces : nullptr;
  };
  return table;
}

}  // namespace

BALEEN_EXPORT_TABLE(planted_table());
