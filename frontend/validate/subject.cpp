/// \file Opens the plugin as a run does, and takes its failures apart.
#include "frontend/validate/subject.hpp"

#include <utility>

namespace baleen::validate {
namespace {

Plugin open_subject(const Subject& subject, Mark& mark) {
  mark.set("its start");
  Result<Plugin> plugin = subject.registry->open(subject.descriptor);
  if (!plugin) throw Failure(plugin.error().text());
  mark.set({});
  return *std::move(plugin);
}

}  // namespace

SettingsStorage settings_of(const Subject& subject, const UserValues& instead, std::uint64_t seed) {
  UserValues values = subject.values;
  for (const auto& [name, value] : instead) values.insert_or_assign(name, value);
  SettingsStorage::Context context;
  context.seed = seed;
  context.folder = subject.folder;
  context.where = "--set";
  Result<SettingsStorage> settings = SettingsStorage::build(subject.descriptor, std::move(values), context);
  if (!settings) throw Failure(settings.error().text());
  return *std::move(settings);
}

Opened::Opened(const Subject& subject, Mark& mark) : plugin_(open_subject(subject, mark)), mark_(mark) {}

Error Opened::refusal(std::string_view name, baleen_status_t status) const {
  Error error = plugin_.failure(status);
  if (status < BALEEN_OK || status > BALEEN_DAMAGED)
    throw Failure(std::string(name) + " returns " + std::to_string(status) + ", which is no status");
  if (error.message.ends_with("failed without a reason (its own bug)"))
    throw Failure(std::string(name) + " fails without a reason: it returns " + std::to_string(status) +
                  " and has not called the host's `fail`");
  return error;
}

void Opened::fails(std::string_view name, baleen_status_t status) const {
  const std::string text = std::string(name) + " fails: " + refusal(name, status).message;
  if (status == BALEEN_INTERNAL) throw Failure(text);
  throw Refused(text);
}

}  // namespace baleen::validate
