/// \file Header parsing by events, so that nothing is built from what is not wanted, and duplicates are seen.
#include "header.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <unordered_set>

namespace baleen::safetensors {
namespace {

struct DtypeName {
  std::string_view name;
  unsigned bits;
  baleen_dtype_t dtype;
};
constexpr DtypeName kDtypes[] = {{"F64", 64, BALEEN_F64},
                                 {"F32", 32, BALEEN_F32},
                                 {"F16", 16, BALEEN_F16},
                                 {"BF16", 16, BALEEN_BF16},
                                 {"I64", 64, BALEEN_I64},
                                 {"I32", 32, BALEEN_I32},
                                 {"U8", 8, BALEEN_U8},
                                 {"I16", 16, 0},
                                 {"I8", 8, 0},
                                 {"U64", 64, 0},
                                 {"U32", 32, 0},
                                 {"U16", 16, 0},
                                 {"BOOL", 8, 0},
                                 {"F8_E4M3", 8, BALEEN_E4M3},
                                 {"F8_E5M2", 8, BALEEN_E5M2}};

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kShown = 80;  // a hostile name must not flood the message
  std::string result(1, '`');
  result += text.substr(0, kShown);
  return result += text.size() > kShown ? "...`" : "`";
}

/// Receives the parser's events. The header is an object of objects, so the place is known by depth and key.
class Events : public nlohmann::json_sax<nlohmann::json> {
 public:
  Header header;
  std::string problem;

  bool start_object(std::size_t) override {
    if (place_ == Place::kNothing) return enter(Place::kTop);
    if (place_ != Place::kTop) return wrong("an object where none belongs");
    in_metadata_ = key_ == "__metadata__";
    keys_.clear();
    if (!in_metadata_) {
      entry_ = Entry{};
      entry_.name = key_;
    }
    return enter(Place::kInside);
  }
  bool end_object() override {
    if (place_ == Place::kTop) return enter(Place::kNothing);
    if (!in_metadata_ && keys_.size() != 3) return wrong("`dtype`, `shape` and `data_offsets` are all needed");
    place_ = Place::kTop;
    if (!in_metadata_) header.entries.push_back(std::move(entry_));
    return true;
  }
  bool key(std::string& text) override {
    if (text.size() > kMaxName) return wrong("the name " + in_quotes(text) + " is longer than 4096 bytes");
    if (place_ == Place::kTop && names_.size() >= kMaxTensors) return wrong("more than 1000000 tensors");
    auto& known = place_ == Place::kTop ? names_ : keys_;
    if (!known.insert(text).second) return wrong("the key " + in_quotes(text) + " occurs twice");
    if (place_ == Place::kInside && !in_metadata_ && text != "dtype" && text != "shape" && text != "data_offsets")
      return wrong("unknown key " + in_quotes(text));
    key_ = text;
    return true;
  }
  bool start_array(std::size_t) override {
    if (place_ != Place::kInside || in_metadata_ || key_ == "dtype") return wrong("an array where none belongs");
    numbers_.clear();
    return enter(Place::kArray);
  }
  bool end_array() override {
    place_ = Place::kInside;
    if (key_ == "shape") {
      entry_.shape = numbers_;
      return true;
    }
    if (numbers_.size() != 2) return wrong("`data_offsets` needs two numbers");
    entry_.begin = numbers_[0];
    entry_.end = numbers_[1];
    return true;
  }
  bool number_unsigned(number_unsigned_t number) override {
    if (place_ != Place::kArray) return wrong("a number where none belongs");
    if (numbers_.size() >= BALEEN_MAX_RANK) return wrong("more than 8 dimensions");
    numbers_.push_back(number);
    return true;
  }
  bool string(string_t& text) override {
    if (place_ != Place::kInside) return wrong("a text where none belongs");
    if (in_metadata_) {
      header.metadata.emplace_back(key_, text);
      return true;
    }
    if (key_ != "dtype") return wrong("a text where numbers belong");
    entry_.dtype = text;
    return true;
  }
  bool number_integer(number_integer_t) override { return wrong("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { return wrong("a number that is not whole"); }
  bool null() override { return wrong("a null"); }
  bool boolean(bool) override { return wrong("true or false where none belongs"); }
  bool binary(binary_t&) override { return wrong("binary data"); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    problem = "the header is not JSON at byte " + std::to_string(position);
    return false;
  }

 private:
  enum class Place { kNothing, kTop, kInside, kArray };

  bool enter(Place place) {
    place_ = place;
    return true;
  }
  bool wrong(const std::string& what) {
    problem = what;
    if (place_ == Place::kInside || place_ == Place::kArray)
      problem = (in_metadata_ ? "in `__metadata__`: " : "tensor " + in_quotes(entry_.name) + ": ") + what;
    return false;
  }

  Place place_ = Place::kNothing;
  bool in_metadata_ = false;
  std::string key_;
  Entry entry_;
  std::vector<std::uint64_t> numbers_;
  std::unordered_set<std::string> names_, keys_;
};

/// prod(shape) * bits / 8, or nothing where that overflows or is no whole byte.
std::optional<std::uint64_t> bytes_of(const Entry& entry) {
  std::uint64_t bits = dtype_bits(entry.dtype);
  for (std::uint64_t extent : entry.shape)
    if (extent > std::numeric_limits<std::int64_t>::max() || __builtin_mul_overflow(bits, extent, &bits)) return {};
  if (bits % 8 != 0) return {};
  return bits / 8;
}

Status check_entry(const Entry& entry, std::uint64_t buffer_size) {
  const std::string who = "tensor " + in_quotes(entry.name) + ": ";
  if (dtype_bits(entry.dtype) == 0) return invalid(who + "unknown dtype " + in_quotes(entry.dtype));
  if (entry.begin > entry.end || entry.end > buffer_size)
    return invalid(who + "data_offsets " + std::to_string(entry.begin) + ", " + std::to_string(entry.end) +
                   " do not lie in the " + std::to_string(buffer_size) + " bytes of data; is the file cut short?");
  const auto bytes = bytes_of(entry);
  if (!bytes || *bytes != entry.end - entry.begin)
    return invalid(who + "its shape needs " + (bytes ? std::to_string(*bytes) : "too many") +
                   " bytes, its data_offsets give " + std::to_string(entry.end - entry.begin));
  return {};
}

}  // namespace

unsigned dtype_bits(std::string_view dtype) {
  for (const DtypeName& known : kDtypes)
    if (known.name == dtype) return known.bits;
  return 0;
}

baleen_dtype_t to_dtype(std::string_view dtype) {
  for (const DtypeName& known : kDtypes)
    if (known.name == dtype) return known.dtype;
  return 0;
}

std::string_view to_name(baleen_dtype_t dtype) {
  for (const DtypeName& known : kDtypes)
    if (known.dtype == dtype) return known.name;
  return {};
}

Result<Header> parse_header(std::string_view json, std::uint64_t buffer_size) {
  if (json.empty() || json.front() != '{') return invalid("the header does not begin with `{`");
  Events events;
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &events)) return invalid(events.problem);
  auto& entries = events.header.entries;
  for (const Entry& entry : entries) BALEEN_TRY(check_entry(entry, buffer_size));
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  std::uint64_t covered = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != covered)
      return invalid(
          "tensor " + in_quotes(entry.name) + (entry.begin < covered ? ": overlaps" : ": leaves a hole after") +
          " the tensor before it, at byte " + std::to_string(std::min(entry.begin, covered)) + " of the data");
    covered = entry.end;
  }
  if (covered != buffer_size)
    return invalid("the tensors end at byte " + std::to_string(covered) + " of the data, but it has " +
                   std::to_string(buffer_size));
  return std::move(events.header);
}

Result<std::string> compose_header(const std::vector<Entry>& entries, const Facts& metadata) {
  nlohmann::ordered_json json;
  auto& facts = json["__metadata__"] = nlohmann::ordered_json::object();
  for (const auto& [name, text] : metadata) facts[name] = text;
  for (const Entry& entry : entries)
    json[entry.name] = {{"dtype", entry.dtype}, {"shape", entry.shape}, {"data_offsets", {entry.begin, entry.end}}};
  std::string text;
  try {
    text = json.dump();
  } catch (const nlohmann::json::type_error&) {
    return invalid("a tensor's name or a fact is not UTF-8, which this format needs");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (text.size() > kMaxHeader) return unsupported("the names and facts need more than the format's 100000000 bytes");
  return text;
}

}  // namespace baleen::safetensors
