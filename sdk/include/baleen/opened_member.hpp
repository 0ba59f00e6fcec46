/// \file Another plugin that this one uses: opened through the host, released with this object.
#pragma once
#include <string>
#include <string_view>
#include <utility>

#include "baleen/plugin.hpp"

namespace baleen::sdk {

/// Outlives all that it made. Movable.
class OpenedMember {
 public:
  /// `text` as baleen_host_open_t takes it: the value of a MEMBER option. `settings`: this plugin's own.
  static Result<OpenedMember> open(const Host& host, const Settings& settings, std::string_view kind,
                                   std::string_view text) {
    const auto* extension = host.query<baleen_host_open_t>(BALEEN_HOST_OPEN);
    if (!extension)
      return Error{BALEEN_UNSUPPORTED, "it uses other plugins, and this host opens none (" BALEEN_HOST_OPEN ")", {}};
    OpenedMember made(host, extension);
    // The host has the text of a failure already.
    if (const auto status = extension->open(host.get()->self, abi(kind), abi(text), settings.get(), &made.member_);
        status != BALEEN_OK)
      throw Failed(status);
    return made;
  }
  OpenedMember(OpenedMember&& other) noexcept
      : host_(other.host_), extension_(other.extension_), member_(std::exchange(other.member_, nullptr)) {}
  OpenedMember& operator=(OpenedMember&& other) noexcept {
    std::swap(host_, other.host_);
    std::swap(extension_, other.extension_);
    std::swap(member_, other.member_);
    return *this;
  }
  ~OpenedMember() {
    if (member_) extension_->release(host_.get()->self, member_);
  }

  std::string_view name() const { return view(member_->name); }
  const baleen_host_t* host() const { return member_->host; }
  const baleen_settings_t& settings() const { return *member_->settings; }
  /// Of its kind.
  template <class Table>
  const Table& table() const {
    return *static_cast<const Table*>(member_->table);
  }
  /// Why a call of it has returned this status on this thread.
  Error failure(baleen_status_t status) const {
    return Error{status, std::string(view(extension_->failure(host_.get()->self, member_, status))), {}};
  }

 private:
  OpenedMember(const Host& host, const baleen_host_open_t* extension) : host_(host), extension_(extension) {}

  Host host_;
  const baleen_host_open_t* extension_;
  const baleen_member_t* member_ = nullptr;
};

}  // namespace baleen::sdk
