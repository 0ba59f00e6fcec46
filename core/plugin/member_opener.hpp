/// \file What the host does for plugins that use other plugins (BALEEN_HOST_OPEN in baleen/host.h).
#pragma once
#include <memory>
#include <string_view>

#include "baleen/host.h"
#include "baleen/result.hpp"
#include "core/plugin/registry.hpp"

namespace baleen {

/// Opens plugins of a registry, of which it keeps a copy. [any thread]
class MemberOpener : public std::enable_shared_from_this<MemberOpener> {
 public:
  explicit MemberOpener(const Registry& registry) : registry_(registry) {}

  /// As baleen_host_open_t says. Give it to `release_member`.
  Result<const baleen_member_t*> open(std::string_view kind, std::string_view text,
                                      const baleen_settings_t& settings) const;

 private:
  const Registry registry_;
};

void release_member(void* host, const baleen_member_t* member);
baleen_string_t member_failure(void* host, const baleen_member_t* member, baleen_status_t status);

}  // namespace baleen
