/// \file A transport plugin's instance as an OpenTransport.
#pragma once
#include <memory>

#include "core/hierarchy/open_transport.hpp"
#include "core/plugin/plugin.hpp"

namespace baleen {

class PluginTransport : public OpenTransport {
 public:
  /// Collective over all ranks of the rendezvous.
  static Result<std::unique_ptr<OpenTransport>> create(Plugin plugin, const baleen_settings_t& settings,
                                                       const baleen_rendezvous_t& rendezvous,
                                                       baleen_transport_flags_t flags);
  ~PluginTransport() override;

  bool allocates() const override { return table_.allocate != nullptr; }
  bool registers() const override { return table_.register_arena != nullptr; }
  bool takes(std::string_view memory) const override { return takes(table_, memory); }
  /// What transports of this plugin will say of themselves.
  static Result<bool> would_take(const Plugin& plugin, std::string_view memory);
  Result<void*> allocate(std::uint64_t bytes) override;
  void release(void* base) override { table_.release(self_, base); }
  Status register_arena(void* base, std::uint64_t bytes) override {
    return plugin_.check(table_.register_arena(self_, base, bytes));
  }
  void unregister_arena(void* base) override { table_.unregister_arena(self_, base); }
  Result<void*> group_create(std::vector<std::int32_t> ranks) override;
  void group_destroy(void* group) override { table_.group_destroy(self_, group); }
  Result<void*> prepare(void* group, const baleen_collective_spec_t& spec) override;
  Status start(void* slot, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
               std::uint64_t done_value) override {
    return plugin_.check(table_.start(self_, slot, after, after_value, done, done_value));
  }
  Status check() override { return plugin_.check(table_.check(self_)); }
  void abort(std::string_view reason) override { table_.abort(self_, abi(reason)); }
  bool takes_notes() const override { return notes_ != nullptr; }
  Status note(void* slot) override { return plugin_.check(notes_->note(self_, slot)); }

 private:
  PluginTransport(Plugin plugin, const baleen_transport_t& table) : plugin_(plugin), table_(table) {}
  static bool takes(const baleen_transport_t& table, std::string_view memory);

  Plugin plugin_;
  const baleen_transport_t table_;
  void* self_ = nullptr;
  const baleen_transport_notes_t* notes_ = nullptr;
};

}  // namespace baleen
