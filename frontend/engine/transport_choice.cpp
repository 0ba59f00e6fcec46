/// \file Which transport serves runs of several ranks. One that is made of others names these by its options; every
/// name and option is checked here, with its place in the manifest, before any library is opened.
#include <algorithm>
#include <memory>
#include <utility>

#include "frontend/engine/members.hpp"

namespace baleen::app {
namespace {

constexpr const char* kKind = "transport";

/// "`a` and `b`".
std::string quoted(const std::vector<const Option*>& options) {
  std::string text;
  for (const Option* option : options) text += (text.empty() ? "`" : " and `") + option->name + '`';
  return text;
}

std::string number_word(std::size_t count) { return count == 2 ? "two" : std::to_string(count); }

/// What an option's help says, without its details in brackets.
std::string gist(const Option& option) { return option.help.substr(0, option.help.find(" (")); }

const std::string& name_place(const UserValue& value) {
  return value.key_where.empty() ? value.where : value.key_where;
}

/// The best transport that is made of others and knows one of these options; null where there is none.
const Descriptor* made_of_others(const Registry& registry, const UserValues& options) {
  const Descriptor* best = nullptr;
  for (const Descriptor& one : registry.descriptors()) {
    if (one.kind != kKind || one.member_options().empty()) continue;
    if (std::ranges::none_of(options, [&](const auto& option) { return one.find(option.first); })) continue;
    if (!best || one.score > best->score) best = &one;
  }
  return best;
}

/// The member that gets the options of single hosts, else the last.
const Option& outermost(const Descriptor& descriptor) {
  const std::vector<const Option*> members = descriptor.member_options();
  const auto found = std::ranges::find_if(members, [](const Option* one) { return one->per_host(); });
  return found == members.end() ? *members.back() : **found;
}

/// Where a section names no transport, the best, unless its options are those of one that is made of others.
Result<Descriptor> find_transport(const Registry& registry, const ManifestChoice& choice) {
  const bool is_named = !choice.plugin.empty();
  BALEEN_TRY_ASSIGN(Descriptor found,
                    is_named ? registry.find(kKind, choice.plugin, choice.where) : registry.best(kKind));
  UserValues unknown;
  for (const auto& [name, value] : choice.options)
    if (!found.find(name)) unknown.emplace(name, value);
  const Descriptor* meant = found.member_options().empty() ? made_of_others(registry, unknown) : nullptr;
  if (!meant) return found;
  if (!is_named) return *meant;
  const std::vector<const Option*> members = meant->member_options();
  return invalid("`plugin` names one transport for all ranks, " + quoted(members) + " name " +
                     number_word(members.size()) + "; leave out either",
                 choice.key_where);
}

/// The checks of a transport that is made of others, whose `options` it completes.
class Composition {
 public:
  /// `where`: of the name of the transport.
  Composition(const Registry& registry, const Manifest& manifest, const Descriptor& descriptor, UserValues& options,
              std::string where)
      : registry_(registry),
        manifest_(manifest),
        descriptor_(descriptor),
        options_(options),
        where_(std::move(where)) {}

  Status complete() {
    BALEEN_TRY(descriptor_.rename(options_));
    BALEEN_TRY(check_names());
    BALEEN_TRY(check_all_there());
    for (auto& [name, value] : options_) {
      const Option& option = *descriptor_.find(name);
      if (option.member())
        BALEEN_TRY(name_member(name, value));
      else if (option.per_host())
        BALEEN_TRY(check_ranks(name, value));
    }
    return {};
  }

  /// Once all options are there.
  Status check_members(const SettingsStorage::Context& context) {
    for (const Option* option : descriptor_.member_options()) {
      UserValue& value = options_.at(option->name);
      const auto& member = std::get<UserMember>(value.data);
      BALEEN_TRY_ASSIGN(const Descriptor descriptor, registry_.find(kKind, member.plugin, value.where));
      UserValues options = *member.options;
      SettingsStorage::Context own = context;
      own.where = value.where;
      if (!descriptor.member_options().empty()) {
        Composition inner(registry_, manifest_, descriptor, options, value.where);
        BALEEN_TRY(inner.complete());
        BALEEN_TRY(inner.check_members(own));
      }
      if (auto settings = SettingsStorage::build(descriptor, options, own); !settings)
        return std::move(settings).error();
      value.data = UserMember{member.plugin, std::make_shared<const UserValues>(std::move(options))};
    }
    return {};
  }

  /// Into the options of a member.
  void give(const std::string& member, const std::string& name, const UserValue& value) {
    UserValue& entry = options_.at(member);
    const auto& old = std::get<UserMember>(entry.data);
    auto options = std::make_shared<UserValues>(*old.options);
    options->insert_or_assign(name, value);
    entry.data = UserMember{old.plugin, std::move(options)};
  }

 private:
  Status check_names() const {
    for (const auto& [name, value] : options_)
      if (!descriptor_.find(name))
        return invalid("`" + name + "` is an option of one of " + number_word(descriptor_.member_options().size()) +
                           " transports; write it into that one's table, as in " + outermost(descriptor_).name +
                           " = { plugin = \"NAME\", " + name + " = ... }",
                       name_place(value));
    return {};
  }

  Status check_all_there() const {
    const std::vector<const Option*> members = descriptor_.member_options();
    const auto given = [&](const Option* one) { return options_.contains(one->name); };
    const auto there = std::ranges::find_if(members, given), missing = std::ranges::find_if_not(members, given);
    if (missing == members.end()) return {};
    if (options_.empty())
      return invalid(title_of(descriptor_) + " is made of others; name them by " + quoted(members), where_);
    if (there == members.end()) {
      const auto& [name, value] = *options_.begin();
      return invalid("`" + name + "` " + gist(*descriptor_.find(name)) + "; name them by " + quoted(members),
                     value.where);
    }
    return invalid("`" + (*there)->name + "` " + gist(**there) + "; name what " + gist(**missing) + " by `" +
                       (*missing)->name + "`, or write `plugin` for one transport that does both",
                   options_.at((*there)->name).where);
  }

  Status name_member(const std::string& name, UserValue& value) const {
    if (std::holds_alternative<UserMember>(value.data)) return {};
    const auto* plugin = std::get_if<std::string>(&value.data);
    if (!plugin)
      return invalid("`" + name + "` must be a transport's name, or a table of its `plugin` and options, not " +
                         std::string(value.type()),
                     value.where);
    if (plugin->empty()) return invalid("`" + name + "` is empty", value.where);
    const bool is_path = plugin->find('/') != std::string::npos;
    value.data = UserMember{is_path ? manifest_.resolved(*plugin, value.where).string() : *plugin,
                            std::make_shared<const UserValues>()};
    return {};
  }

  Status check_ranks(const std::string& name, const UserValue& value) const {
    const auto* count = std::get_if<std::int64_t>(&value.data);
    if (!count) return {};  // the schema has words for it
    const ManifestHost& largest = *std::ranges::max_element(manifest_.hosts, {}, &ManifestHost::ranks);
    if (*count <= largest.ranks) return {};
    return invalid("`" + name + "` is " + std::to_string(*count) + ", but the largest host, `" + largest.name +
                       "`, has " + std::to_string(largest.ranks) + "; take at most that",
                   value.where);
  }

  const Registry& registry_;
  const Manifest& manifest_;
  const Descriptor& descriptor_;
  UserValues& options_;
  const std::string where_;
};

/// To the transport, or to those that it is made of.
Status apply_flags(const Registry& registry, const PluginFlags& flags, Member& member, Composition& composition) {
  for (const PluginFlag& flag : flags) {
    if (flag.kind != kKind) continue;
    bool used = flag.plugin == member.descriptor.name;
    if (used) apply_flag(member, flag);
    std::string parts;
    for (const Option* option : member.descriptor.member_options()) {
      const UserValue& value = member.options.at(option->name);
      const std::string& plugin = std::get<UserMember>(value.data).plugin;
      BALEEN_TRY_ASSIGN(const Descriptor descriptor, registry.find(kKind, plugin, value.where));
      parts += (parts.empty() ? " of `" : " and `") + descriptor.name + '`';
      if (descriptor.name != flag.plugin) continue;
      composition.give(option->name, flag.option, flag.value);
      used = true;
    }
    if (!used)
      return invalid(
          "belongs to transport `" + flag.plugin + "`, but this run uses `" + member.descriptor.name + '`' + parts,
          flag.value.where);
  }
  return {};
}

}  // namespace

Result<Member> choose_transport(const Registry& registry, const Manifest& manifest, const PluginFlags& flags) {
  const ManifestChoice& choice = manifest.transport;
  BALEEN_TRY_ASSIGN(Descriptor descriptor, find_transport(registry, choice));
  Member member{std::move(descriptor), choice.options, choice.where, manifest.folder()};
  UserValues others;  // which a host has for a part
  const bool is_made_of_others = !member.descriptor.member_options().empty();
  for (const auto& [name, value] : choice.host_options)
    (is_made_of_others && !member.descriptor.find(name) ? others : member.options).insert_or_assign(name, value);
  Composition composition(registry, manifest, member.descriptor, member.options, choice.where);
  if (is_made_of_others) BALEEN_TRY(composition.complete());
  for (const auto& [name, value] : others) composition.give(outermost(member.descriptor).name, name, value);
  BALEEN_TRY(apply_flags(registry, flags, member, composition));
  if (is_made_of_others) BALEEN_TRY(composition.check_members({0, member.folder, {}}));
  return member;
}

std::string text_of(const Member& transport) {
  std::string parts;
  for (const Option* option : transport.descriptor.member_options())
    parts += (parts.empty() ? "" : ", ") + option->name + " " +
             std::get<UserMember>(transport.options.at(option->name).data).plugin;
  return transport.descriptor.name + (parts.empty() ? "" : " (" + parts + ")");
}

std::string order_note(const Manifest& manifest) {
  if (manifest.deterministic || manifest.ranks() == 1) return {};
  return "sums of several ranks may differ in their last bits from run to run: `deterministic = false` (" +
         manifest.deterministic_where + ")";
}

}  // namespace baleen::app
