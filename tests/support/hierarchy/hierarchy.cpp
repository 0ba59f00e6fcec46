/// \file The core's hierarchy of two transports as a plugin, so that what tests plugins tests it too.
#include "core/hierarchy/open.hpp"
#include "core/plugin/settings.hpp"

BALEEN_DESCRIPTOR("transport", "hierarchy", "1.0.0", "Apache-2.0", "two transports of the build as one, for tests", -1,
                  "",
                  BALEEN_OPTION("hosts", BALEEN_OPTION_STRING, 0, 1, 0, "", "", "",
                                "a letter per rank, the same for ranks of one host; later ranks are on the last's"),
                  BALEEN_OPTION("inside", BALEEN_OPTION_STRING, 0, 1, 0, "", "", "", "the file of a transport"),
                  BALEEN_OPTION("inside_tls", BALEEN_OPTION_STRING, 0, 1, 0, "", "", "", "its option of this name"),
                  BALEEN_OPTION("between", BALEEN_OPTION_STRING, 0, 1, 0, "", "", "", "the file of a transport"),
                  BALEEN_OPTION("between_tls", BALEEN_OPTION_STRING, 0, 1, 0, "", "", "", "its option of this name"));

namespace baleen::hierarchy {
namespace {

struct Opened {
  Plugin plugin;
  SettingsStorage settings;
};

class TestHierarchy : public Transport {
 public:
  static Result<std::unique_ptr<TestHierarchy>> create(const Host& host, const Settings& settings,
                                                       const Rendezvous& rendezvous, baleen_transport_flags_t flags) {
    BALEEN_TRY_ASSIGN(const Opened inside, open_member(settings, "inside"));
    BALEEN_TRY_ASSIGN(const Opened between, open_member(settings, "between"));
    const std::string_view letters = settings.text("hosts");
    std::vector<std::int32_t> hosts;
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(rendezvous.ranks()); ++rank)
      hosts.push_back(letters[std::min(rank, letters.size() - 1)]);
    const Members members{inside.plugin, *inside.settings.get(), between.plugin, *between.settings.get()};
    HierarchyTransport::Options options;
    options.checked = (flags & BALEEN_TRANSPORT_CHECKED) != 0;
    options.note = [host](const std::string& text) { host.log(BALEEN_INFO, text); };
    BALEEN_TRY_ASSIGN(auto made, hierarchy::open(members, std::move(hosts), *rendezvous.get(), std::move(options)));
    return std::make_unique<TestHierarchy>(std::move(made));
  }

  explicit TestHierarchy(std::unique_ptr<OpenTransport> made) : made_(std::move(made)) {}

  Result<void*> allocate(std::uint64_t bytes) override { return made_->allocate(bytes); }
  void release(void* base) override { made_->release(base); }
  Result<void*> group_create(std::vector<std::int32_t> ranks) override { return made_->group_create(std::move(ranks)); }
  void group_destroy(void* group) override { made_->group_destroy(group); }
  Result<void*> prepare(void* group, const baleen_collective_spec_t& spec) override {
    return made_->prepare(group, spec);
  }
  Status start(void* slot, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
               std::uint64_t done_value) override {
    return made_->start(slot, after, after_value, done, done_value);
  }
  Status check() override { return made_->check(); }
  void abort(std::string_view reason) override { made_->abort(reason); }

 private:
  static Result<Opened> open_member(const Settings& settings, const std::string& which) {
    BALEEN_TRY_ASSIGN(const Descriptor descriptor, read_descriptor(std::string(settings.text(which))));
    UserValues values;
    if (const std::string tls(settings.text(which + "_tls")); !tls.empty())
      values.insert_or_assign("tls", UserValue{std::vector<std::string>{tls}, "the test"});
    BALEEN_TRY_ASSIGN(SettingsStorage storage, SettingsStorage::build(descriptor, values, {}));
    BALEEN_TRY_ASSIGN(const Plugin plugin, Plugin::open(descriptor, Log()));
    return Opened{plugin, std::move(storage)};
  }

  std::unique_ptr<OpenTransport> made_;
};

}  // namespace
}  // namespace baleen::hierarchy

BALEEN_TRANSPORT(baleen::hierarchy::TestHierarchy);
