/// \file Drives a format by its table, with guards behind what it reads into.
#include "frontend/validate/checkpoint_format.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include "baleen/dtype.hpp"
#include "baleen/host.hpp"

namespace baleen::validate {
namespace {

constexpr std::size_t kBehind = 64;  // bytes behind what a tensor is read into
constexpr char kGuardByte = '\x5a';

}  // namespace

NamedBytes tensor_of(std::string name, baleen_dtype_t dtype, std::vector<std::int64_t> shape) {
  std::size_t bytes = dtype_size(dtype);
  for (const std::int64_t extent : shape) bytes *= static_cast<std::size_t>(extent);
  NamedBytes tensor{std::move(name), dtype, std::move(shape), std::string(bytes, '\0')};
  std::minstd_rand random(static_cast<unsigned>(bytes + tensor.name.size()));
  for (char& byte : tensor.bytes) byte = static_cast<char>(random() >> 8);
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

std::vector<NamedBytes> all_tensors() {
  std::vector<NamedBytes> all = many_tensors();
  all.push_back(tensor_of("large", BALEEN_F32, {300, 1001}));
  for (int i = 0; i < 300; ++i) all.push_back(tensor_of("small." + std::to_string(i), BALEEN_F32, {i % 7 + 1}));
  return all;
}

Told::Told(const std::vector<NamedBytes>& given, const Facts& facts, bool with_data) {
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

Format::Format(const Subject& subject, Mark& mark)
    : plugin(subject, mark),
      table(plugin.table<baleen_checkpoint_t>()),
      path((subject.scratch / ("file." + subject.descriptor.extension)).string()) {}

baleen_status_t Format::try_write(const std::string& to, const std::vector<NamedBytes>& tensors, const Facts& facts) {
  const Told told(tensors, facts, true);
  return plugin.call("`write`", table.write, plugin.host(), abi(to), told.tensors.data(),
                     std::uint64_t{told.tensors.size()}, told.pairs.data(), std::uint64_t{facts.size()});
}

void Format::write(const std::vector<NamedBytes>& tensors, const Facts& facts) {
  const baleen_status_t status = try_write(path, tensors, facts);
  if (status != BALEEN_OK) throw Failure("`write` fails: " + plugin.refusal("`write`", status).message);
}

bool Format::read(const std::string& from, std::map<std::string, NamedBytes>& found, Facts& facts, std::string& why) {
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

std::map<std::string, NamedBytes> Format::must_read(Facts* facts) {
  std::map<std::string, NamedBytes> found;
  Facts told;
  std::string why;
  if (!read(path, found, told, why)) throw Failure("what it has written it cannot read: " + why);
  if (facts) *facts = told;
  return found;
}

}  // namespace baleen::validate
