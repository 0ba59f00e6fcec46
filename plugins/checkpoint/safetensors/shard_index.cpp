/// \file Composing and parsing the JSON of shards. What is parsed may be damaged: nothing of it is believed unchecked.
#include "shard_index.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "baleen/dtype.hpp"
#include "hash.hpp"
#include "header.hpp"

namespace baleen::safetensors {
namespace {

using Json = nlohmann::json;

constexpr char kFormat[] = "baleen.shards/1";
constexpr int kDeepest = 10;

/// Thrown inside this file only.
struct Wrong : std::exception {
  explicit Wrong(std::string what) : text(std::move(what)) {}
  const char* what() const noexcept override { return text.c_str(); }
  std::string text;
};

/// Refuses keys that occur twice, which nlohmann's parser would drop, and deep nesting.
Json parse(const std::string& text) {
  std::vector<std::set<std::string>> keys;
  std::string problem;
  const auto look = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kDeepest && problem.empty()) problem = "it is nested too deeply";
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second && problem.empty())
      problem = "the key `" + parsed.get<std::string>() + "` occurs twice";
    return problem.empty();
  };
  Json json = Json::parse(text, look, false);
  if (!problem.empty()) throw Wrong(problem);
  if (json.is_discarded() || !json.is_object()) throw Wrong("it is no JSON object; is it cut short?");
  return json;
}

const Json& at(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end()) throw Wrong("`" + std::string(key) + "` is missing");
  return *found;
}
std::int64_t integer(const Json& json) {
  if (!json.is_number_unsigned() || json.get<std::uint64_t>() > INT64_MAX)
    throw Wrong("a number is not what it must be");
  return json.get<std::int64_t>();
}
std::int32_t small_integer(const Json& json) {
  if (integer(json) > INT32_MAX) throw Wrong("a number is too large");
  return static_cast<std::int32_t>(integer(json));
}
std::string text(const Json& json) {
  if (!json.is_string()) throw Wrong("a text is missing");
  return json.get<std::string>();
}
const Json& list(const Json& json) {
  if (!json.is_array()) throw Wrong("a list is missing");
  return json;
}
const Json& object(const Json& json) {
  if (!json.is_object()) throw Wrong("an object is missing");
  return json;
}

std::vector<std::int64_t> shape_of(const Json& json) {
  std::vector<std::int64_t> shape;
  for (const Json& extent : list(json)) shape.push_back(integer(extent));
  if (shape.size() > BALEEN_MAX_RANK) throw Wrong("more than 8 dimensions");
  return shape;
}
baleen_range_t range_of(const Json& json) {
  if (list(json).size() != 2) throw Wrong("a range needs two numbers");
  return {integer(json[0]), integer(json[1])};
}

Json json_of(const baleen_range_t& range) { return {range.begin, range.end}; }
Json json_of(const Region& region) {
  Json ranges = Json::array();
  for (const auto& list : region.ranges) {
    ranges.push_back(Json::array());
    for (const baleen_range_t& range : list) ranges.back().push_back(json_of(range));
  }
  Json json = {{"ranges", std::move(ranges)}};
  if (region.flat) json["flat"] = json_of(*region.flat);
  return json;
}
Region region_of(const Json& json, const std::vector<std::int64_t>& shape) {
  std::vector<std::vector<baleen_range_t>> ranges;
  for (const Json& dim : list(at(json, "ranges"))) {
    ranges.emplace_back();
    for (const Json& range : list(dim)) ranges.back().push_back(range_of(range));
    if (ranges.back().empty()) throw Wrong("a dimension without ranges");
  }
  if (ranges.size() != shape.size()) throw Wrong("as many lists of ranges as dimensions are needed");
  std::optional<baleen_range_t> flat;
  if (json.contains("flat")) flat = range_of(json["flat"]);
  auto region = Region::of(shape, ranges, flat);
  if (!region) throw Wrong(region.error().message);
  return *std::move(region);
}

Json json_of(const WrittenPiece& piece) {
  Json json = json_of(piece.region);
  json["xxh3"] = checksum_text(piece.checksum);
  return json;
}
std::uint64_t checksum(const Json& json) {
  const std::string digits = text(json);
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (code != std::errc() || end != digits.data() + digits.size() || checksum_text(value) != digits)
    throw Wrong("a checksum is not 16 hexadecimal digits");
  return value;
}
WrittenPiece piece_of(const Json& json, const std::vector<std::int64_t>& shape) {
  return {region_of(json, shape), checksum(at(json, "xxh3"))};
}

/// How the index begins: with the checksum of what would stand there without this line.
const std::string kOpening = "{\n", kHead = kOpening + " \"checksum\": \"", kHeadEnd = "\",\n";
constexpr std::size_t kDigits = 16;

void check_own(const std::string& index) {
  const std::size_t end = kHead.size() + kDigits;
  if (!index.starts_with(kHead) || index.size() < end || !std::string_view(index).substr(end).starts_with(kHeadEnd))
    throw Wrong("it does not begin with its checksum; it is damaged, or of another version");
  const std::string body = kOpening + index.substr(end + kHeadEnd.size());
  if (index.substr(kHead.size(), kDigits) != checksum_text(checksum_of(std::as_bytes(std::span(body)))))
    throw Wrong("its checksum is wrong: it has been damaged; take another checkpoint");
}

/// `what`: whose JSON it is.
template <class Body>
auto guarded(const std::string& what, Body&& body) -> Result<decltype(body())> {
  try {
    return body();
  } catch (const Wrong& wrong) {
    return invalid(what + ": " + wrong.text);
  } catch (const Json::exception&) {
    return invalid(what + ": a name or text is not UTF-8, which JSON needs");
  }
}

std::string tensor_text(const std::string& name, const ShardIndex::Tensor& tensor) {
  return "tensor `" + name + "` (" + type_text(tensor.dtype, tensor.shape) + ")";
}

}  // namespace

std::uint64_t checksum_of(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::string checksum_text(std::uint64_t checksum) {
  std::string digits(kDigits, '0');
  for (std::size_t i = 0; i < kDigits; ++i) digits[kDigits - 1 - i] = "0123456789abcdef"[checksum >> 4 * i & 15];
  return digits;
}

std::string type_text(baleen_dtype_t dtype, const std::vector<std::int64_t>& shape) {
  std::string text = std::string(dtype_name(dtype)) + " [";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::string shard_file_name(const std::string& attempt, std::int32_t writer, std::int32_t writers) {
  const auto padded = [](std::int32_t number) {
    const std::string digits = std::to_string(number);
    return std::string(5 - std::min<std::size_t>(5, digits.size()), '0') + digits;
  };
  return "shard-" + attempt + "-" + padded(writer + 1) + "-of-" + padded(writers) + ".safetensors";
}

Status check_attempt(const std::string& attempt) {
  const bool fits = !attempt.empty() && attempt.size() <= 64 && std::all_of(attempt.begin(), attempt.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  });
  if (fits) return {};
  return invalid("an attempt cannot be named `" + attempt.substr(0, 80) +
                 "`; use 1 to 64 letters, digits, `.`, `_` and `-`");
}

Result<std::string> compose_pieces(const ShardPieces& pieces) {
  return guarded("the description of shards", [&] {
    Json json = {{"attempt", pieces.writer.attempt},
                 {"writer", pieces.writer.number},
                 {"writers", pieces.writer.count},
                 {"pieces", Json::object()}};
    for (const auto& [name, piece] : pieces.pieces) {
      json["pieces"][name] = json_of(piece);
      json["pieces"][name]["shape"] = piece.region.shape;
    }
    return json.dump();
  });
}

Result<ShardPieces> parse_pieces(const std::string& text_of_json) {
  return guarded("the description of its shards", [&] {
    const Json json = parse(text_of_json);
    ShardPieces result{
        {text(at(json, "attempt")), small_integer(at(json, "writer")), small_integer(at(json, "writers"))}, {}};
    for (const auto& [name, piece] : object(at(json, "pieces")).items())
      result.pieces.emplace(name, piece_of(piece, shape_of(at(piece, "shape"))));
    return result;
  });
}

Result<std::string> compose_index(const ShardIndex& index) {
  return guarded("the index of shards", [&] {
    Json json = {{"format", kFormat},
                 {"attempt", index.attempt},
                 {"facts", Json::object()},
                 {"files", Json::array()},
                 {"tensors", Json::object()}};
    for (const auto& [name, fact] : index.facts) json["facts"][name] = fact;
    for (std::size_t i = 0; i < index.files.size(); ++i)
      json["files"].push_back({{"name", index.file_name(i)},
                               {"bytes", index.files[i].bytes},
                               {"header", checksum_text(index.files[i].header)}});
    for (const auto& [name, tensor] : index.tensors) {
      Json& to = json["tensors"][name] = {
          {"dtype", to_name(tensor.dtype)}, {"shape", tensor.shape}, {"pieces", Json::array()}};
      for (const ShardIndex::Piece& piece : tensor.pieces) {
        to["pieces"].push_back(json_of(piece));
        to["pieces"].back()["file"] = piece.file;
      }
    }
    const std::string body = json.dump(1) + "\n";
    return kHead + checksum_text(checksum_of(std::as_bytes(std::span(body)))) + kHeadEnd + body.substr(kOpening.size());
  });
}

Result<ShardIndex> parse_index(const std::string& text_of_json) {
  return guarded("the index of shards", [&] {
    check_own(text_of_json);
    const Json json = parse(text_of_json);
    if (text(at(json, "format")) != kFormat)
      throw Wrong("its format is `" + text(at(json, "format")).substr(0, 80) + "`, this reader knows `" + kFormat +
                  "`");
    ShardIndex index;
    index.attempt = text(at(json, "attempt"));
    if (!check_attempt(index.attempt)) throw Wrong("`attempt` is no name of an attempt");
    for (const auto& [name, fact] : object(at(json, "facts")).items()) index.facts.emplace_back(name, text(fact));
    for (const Json& file : list(at(json, "files")))
      index.files.push_back({static_cast<std::uint64_t>(integer(at(file, "bytes"))), checksum(at(file, "header"))});
    for (std::size_t i = 0; i < index.files.size(); ++i)
      if (text(at(json["files"][i], "name")) != index.file_name(i))
        throw Wrong("a file is not named as its writer's is");
    std::vector<std::uint64_t> left;
    for (const ShardIndex::File& file : index.files) left.push_back(file.bytes);
    for (const auto& [name, entry] : object(at(json, "tensors")).items()) {
      ShardIndex::Tensor tensor{to_dtype(text(at(entry, "dtype"))), shape_of(at(entry, "shape")), {}};
      const auto count = elements_of(tensor.shape);
      std::int64_t bytes = 0;
      if (tensor.dtype == 0 || !count ||
          __builtin_mul_overflow(*count, static_cast<std::int64_t>(dtype_size(tensor.dtype)), &bytes))
        throw Wrong("tensor `" + name + "` has no known dtype or too many elements");
      for (const Json& piece : list(at(entry, "pieces"))) {
        const auto file = static_cast<std::size_t>(integer(at(piece, "file")));
        if (file >= index.files.size()) throw Wrong("tensor `" + name + "` has a piece in no file");
        tensor.pieces.push_back({piece_of(piece, tensor.shape), file});
        // What reads it may count on it: nothing has more elements than the files, which are there, can hold.
        const auto needs =
            static_cast<std::uint64_t>(tensor.pieces.back().region.elements()) * dtype_size(tensor.dtype);
        if (needs > left[file])
          throw Wrong("tensor `" + name + "` has a piece of " + std::to_string(needs) + " bytes in " +
                      index.file_name(file) + ", which has no room for it");
        left[file] -= needs;
      }
      index.tensors.emplace(name, std::move(tensor));
    }
    return index;
  });
}

Result<ShardIndex> read_index(const std::string& folder) {
  const std::string path = folder + "/" + kIndexName;
  std::error_code ignored;
  std::ifstream file;
  if (std::filesystem::is_regular_file(path, ignored)) file.open(path, std::ios::binary);  // a pipe would never end
  if (!file.is_open())
    return Error{BALEEN_NOT_FOUND,
                 "holds no checkpoint: there is no " + std::string(kIndexName) +
                     ", which is written last; if a run ended before that, take an earlier checkpoint",
                 folder};
  const std::string json{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  auto index = parse_index(json);
  if (!index) return Error{index.error().code, index.error().message, path};
  return index;
}

Result<std::vector<HeldStretch>> held_stretches(const ShardIndex& index, const std::string& name) {
  const ShardIndex::Tensor& tensor = index.tensors.at(name);
  std::vector<HeldStretch> all;
  for (std::size_t piece = 0; piece < tensor.pieces.size(); ++piece)
    for (const Stretch& stretch : stretches(tensor.pieces[piece].region)) all.push_back({stretch, piece});
  std::sort(all.begin(), all.end(), [](const HeldStretch& a, const HeldStretch& b) { return a.global < b.global; });
  const auto missing = [&](std::int64_t begin, std::int64_t end) {
    return invalid(tensor_text(name, tensor) + ": no writer holds its elements [" + std::to_string(begin) + ", " +
                   std::to_string(end) + ") in row-major order; have each element written by one rank");
  };
  const auto file = [&](const HeldStretch& stretch) { return index.file_name(tensor.pieces[stretch.piece].file); };
  std::int64_t covered = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].global > covered) return missing(covered, all[i].global);
    if (all[i].global < covered)
      return invalid(tensor_text(name, tensor) + ": element " + std::to_string(all[i].global) +
                     " in row-major order is both in " + file(all[i - 1]) + " and in " + file(all[i]) +
                     "; pieces of several ranks must be equal or have nothing in common");
    covered += all[i].length;
  }
  const std::int64_t count = *elements_of(tensor.shape);
  if (covered < count) return missing(covered, count);
  return all;
}

}  // namespace baleen::safetensors
