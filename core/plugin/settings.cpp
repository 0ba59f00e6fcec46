/// \file Builds settings option by option, in the schema's order.
#include "core/plugin/settings.hpp"

#include <deque>
#include <utility>
#include <vector>

#include "baleen/plugin.hpp"
#include "core/input/nearest.hpp"
#include "core/plugin/member_text.hpp"
#include "core/plugin/option_value.hpp"

namespace baleen {
namespace {

std::string joined(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (&item == items.data() ? "" : "\n") + item;
  return text;
}

std::string string_of(const UserValue& value) {
  if (const auto* list = std::get_if<std::vector<std::string>>(&value.data)) return joined(*list);
  if (const auto* member = std::get_if<UserMember>(&value.data)) return member_text(*member);
  return std::get<std::string>(value.data);
}

Error with_title_of(const Descriptor& descriptor, const Error& error) {
  return Error{error.code, title_of(descriptor) + ": " + error.message, error.where};
}

const UserValue* lookup(const UserValues& values, const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? nullptr : &found->second;
}

Status check_names(const Descriptor& descriptor, const UserValues& values) {
  for (const auto& [name, value] : values)
    if (!descriptor.find(name))
      return invalid(title_of(descriptor) + ": " + unknown_word("option", name, descriptor.option_names()),
                     value.where);
  return {};
}

Status check_group(const Descriptor& descriptor, const UserValues& group) {
  BALEEN_TRY(check_names(descriptor, group));
  for (const auto& [name, value] : group)
    if (!descriptor.find(name)->per_group())
      return invalid(
          title_of(descriptor) + ": option `" + name + "` holds for all parameters; a group cannot change it",
          value.where);
  return {};
}

}  // namespace

struct SettingsStorage::State {
  std::string folder;
  std::deque<std::string> texts;  // a deque: what points into it stays where it is
  std::deque<NumberTable> tables;
  std::vector<baleen_setting_t> items;
  baleen_settings_t settings{};

  baleen_string_t keep(std::string text) { return abi(texts.emplace_back(std::move(text))); }
  void add(const Option& option, const UserValue* value);
};

void SettingsStorage::State::add(const Option& option, const UserValue* value) {
  baleen_setting_t item{};
  item.name = keep(option.name);
  item.type = option.type;
  item.text = abi("");
  if (option.type == BALEEN_OPTION_SCHEDULE) item.value = BALEEN_NONE;
  if (!value) {  // a table without a default: no rows
    items.push_back(item);
    return;
  }
  switch (option.type) {
    case BALEEN_OPTION_BOOL: item.integer = as_integer(*value); break;
    case BALEEN_OPTION_STRING: item.text = keep(string_of(*value)); break;
    case BALEEN_OPTION_TABLE:
      if (const auto* given = std::get_if<NumberTable>(&value->data)) {
        const NumberTable& table = tables.emplace_back(*given);
        item.table = table.numbers.data();
        item.rows = table.rows;
        item.columns = table.columns;
      }
      break;
    case BALEEN_OPTION_INT: item.integer = as_integer(*value); [[fallthrough]];
    default:
      item.number = as_number(*value);
      if (const auto* word = std::get_if<std::string>(&value->data)) item.text = keep(*word);
  }
  items.push_back(item);
}

SettingsStorage::SettingsStorage(std::unique_ptr<State> state) : state_(std::move(state)) {}
SettingsStorage::SettingsStorage(SettingsStorage&&) noexcept = default;
SettingsStorage& SettingsStorage::operator=(SettingsStorage&&) noexcept = default;
SettingsStorage::~SettingsStorage() = default;

Result<SettingsStorage> SettingsStorage::build(const Descriptor& descriptor, UserValues values, const Context& context,
                                               UserValues group) {
  BALEEN_TRY(descriptor.rename(values));
  BALEEN_TRY(descriptor.rename(group));
  BALEEN_TRY(check_names(descriptor, values));
  BALEEN_TRY(check_group(descriptor, group));
  auto state = std::make_unique<State>();
  for (const Option& option : descriptor.options) {
    const UserValue* own = lookup(group, option.name);
    const UserValue* given = own ? own : lookup(values, option.name);
    if (given) {
      if (Status status = check_option(option, *given); !status) return with_title_of(descriptor, status.error());
      state->add(option, given);
    } else if (option.required()) {
      return invalid(title_of(descriptor) + ": option `" + option.name + "` is required (" + option.help + ")",
                     context.where);
    } else if (option.type == BALEEN_OPTION_TABLE) {
      state->add(option, nullptr);
    } else {
      BALEEN_TRY_ASSIGN(const UserValue value, parse_option_text(option, option.default_value, context.where));
      state->add(option, &value);
    }
  }
  state->folder = context.folder;
  state->settings = {sizeof(baleen_settings_t), state->items.size(), state->items.data(), context.seed,
                     abi(state->folder),        context.local_rank,  context.local_ranks};
  return SettingsStorage(std::move(state));
}

const baleen_settings_t* SettingsStorage::get() const { return &state_->settings; }

const baleen_setting_t* SettingsStorage::find(std::string_view option) const {
  for (const baleen_setting_t& item : state_->items)
    if (view(item.name) == option) return &item;
  return nullptr;
}

bool SettingsStorage::set_value(std::string_view option, std::uint32_t value) {
  for (baleen_setting_t& item : state_->items) {
    if (view(item.name) != option || item.type != BALEEN_OPTION_SCHEDULE) continue;
    item.value = value;
    return true;
  }
  return false;
}

}  // namespace baleen
