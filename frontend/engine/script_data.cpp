/// \file Calls the extensions of data plugins.
#include "frontend/engine/script_data.hpp"

namespace baleen::app {
namespace {

Error no_text() { return unsupported("this data set is no text: it cannot turn ids into text or back"); }

/// For each field the name of the one with its rows' lengths.
Result<std::vector<std::string>> lengths_of(const Dataset& data, const std::string& title) {
  const baleen_dataset_info_t& info = data.info();
  std::vector<std::string> lengths(info.field_count);
  const auto ragged = data.extension<baleen_data_ragged_t>(BALEEN_DATA_RAGGED);
  if (!ragged || !ragged->length_field) return lengths;
  for (std::uint32_t f = 0; f < info.field_count; ++f) {
    BALEEN_TRY_ASSIGN(const std::int32_t at,
                      data.checked_value([&] { return ragged->length_field(data.handle(), f); }));
    if (at == -1) continue;
    const auto wrong = [&](const std::string& what) {
      return internal(title + ": its ragged field `" + info.fields[f].name + "` " + what + "; see baleen/data.h");
    };
    if (at < 0 || at >= static_cast<std::int32_t>(info.field_count))
      return wrong("has its lengths in field " + std::to_string(at) + " of " + std::to_string(info.field_count));
    const baleen_field_t& length = info.fields[at];
    if (length.dtype != BALEEN_I32 || length.rank != 0)
      return wrong(std::string("has its lengths in `") + length.name + "`, which is not one int32 in a row");
    if (info.fields[f].rank == 0) return wrong("has no dimensions");
    lengths[f] = length.name;
  }
  return lengths;
}

}  // namespace

Result<std::shared_ptr<DataForScript>> DataForScript::create(std::shared_ptr<Dataset> data, const std::string& title) {
  std::shared_ptr<DataForScript> made(new DataForScript(std::move(data)));
  BALEEN_TRY_ASSIGN(made->lengths_, lengths_of(*made->data_, title));
  return made;
}

Result<std::vector<std::int32_t>> DataForScript::encode(std::string_view text) const {
  if (!tokens_ || !tokens_->encode) return no_text();
  std::vector<std::int32_t> ids(text.size() + 1);
  for (;;) {
    const std::int64_t count =
        tokens_->encode(data_->handle(), abi(text), ids.data(), static_cast<std::int64_t>(ids.size()));
    if (count < 0) return data_->failure();
    const bool fits = count <= static_cast<std::int64_t>(ids.size());
    ids.resize(static_cast<std::size_t>(count));
    if (fits) return ids;
  }
}

Result<std::string> DataForScript::decode(std::span<const std::int32_t> ids) const {
  if (!tokens_ || !tokens_->decode) return no_text();
  std::string text(ids.size() * 4, '\0');
  for (;;) {
    const std::int64_t count = tokens_->decode(data_->handle(), ids.data(), static_cast<std::int64_t>(ids.size()),
                                               text.data(), static_cast<std::int64_t>(text.size()));
    if (count < 0) return data_->failure();
    const bool fits = count <= static_cast<std::int64_t>(text.size());
    text.resize(static_cast<std::size_t>(count));
    if (fits) return text;
  }
}

}  // namespace baleen::app
