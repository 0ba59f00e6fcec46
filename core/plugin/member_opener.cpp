/// \file What is opened keeps its settings until it is released.
#include "core/plugin/member_opener.hpp"

#include <string>
#include <utility>

#include "baleen/per_thread.hpp"
#include "baleen/plugin.hpp"
#include "core/plugin/member_text.hpp"
#include "core/plugin/settings.hpp"

namespace baleen {
namespace {

/// What a `baleen_member_t` of ours is.
struct HeldMember : baleen_member_t {
  HeldMember(Plugin opened, SettingsStorage checked)
      : baleen_member_t{sizeof(baleen_member_t), abi(opened.descriptor().name), opened.any_table(), opened.host(),
                        checked.get()},
        plugin(opened),
        settings(std::move(checked)) {}

  Plugin plugin;
  SettingsStorage settings;
};

}  // namespace

Result<const baleen_member_t*> MemberOpener::open(std::string_view kind, std::string_view text,
                                                  const baleen_settings_t& like) const {
  BALEEN_TRY_ASSIGN(const Descriptor descriptor, registry_.find(kind, member_name(text)));
  BALEEN_TRY_ASSIGN(const UserValues options, member_options(text, descriptor));
  const Settings own(&like);
  const SettingsStorage::Context context{
      own.seed(), std::string(own.folder()), {}, own.local_rank(), own.local_ranks()};
  BALEEN_TRY_ASSIGN(SettingsStorage settings, SettingsStorage::build(descriptor, options, context));
  BALEEN_TRY_ASSIGN(const Plugin plugin, Plugin::open(descriptor, registry_.log(), shared_from_this()));
  return static_cast<const baleen_member_t*>(new HeldMember(plugin, std::move(settings)));
}

void release_member(void*, const baleen_member_t* member) { delete static_cast<const HeldMember*>(member); }

baleen_string_t member_failure(void*, const baleen_member_t* member, baleen_status_t status) {
  try {
    static sdk::PerThread<std::string> texts;
    std::string& text = texts.here();
    text = static_cast<const HeldMember*>(member)->plugin.failure(status).text();
    return abi(text);
  } catch (...) {  // out of memory: the status alone must do
    return abi("");
  }
}

}  // namespace baleen
