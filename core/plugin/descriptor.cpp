/// \file Checks a descriptor field by field before anything believes it.
#include "core/plugin/descriptor.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "baleen/launcher.h"
#include "core/input/nearest.hpp"
#include "core/plugin/elf_note.hpp"
#include "core/plugin/kinds.hpp"
#include "core/plugin/option_value.hpp"

namespace baleen {
namespace {

constexpr std::string_view kOwner = "Baleen";
constexpr std::string_view kRebuild = "; build it again against this Baleen's SDK";

// Where the parts of a record lie, and what ABI 1.0 had.
constexpr std::size_t kOptionsAt = offsetof(baleen_descriptor_t, options);
constexpr std::size_t kRestAt = offsetof(baleen_descriptor_t, kind_revision);
constexpr std::size_t kFirstOption = 440;
constexpr std::size_t bytes_of_options(std::size_t option) { return BALEEN_MAX_OPTIONS * option; }
static_assert(kRestAt == kOptionsAt + bytes_of_options(sizeof(baleen_option_t)));

std::string version_text(int major, int minor) { return std::to_string(major) + "." + std::to_string(minor); }

/// Lower-case words joined by `joint`: names of options ('_') and flags ('-').
bool is_word(std::string_view word, char joint) {
  const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  if (word.empty() || !letter(word.front())) return false;
  return std::ranges::all_of(word, [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == joint; });
}

std::vector<std::string> split_choices(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t bar = std::min(text.find('|'), text.size());
    words.emplace_back(text.substr(0, bar));
    text.remove_prefix(std::min(bar + 1, text.size()));
  }
  return words;
}

/// Turns the raw record into a Descriptor; the first field that is wrong ends it.
class Reader {
 public:
  Reader(std::span<const std::byte> note, const std::filesystem::path& file) : note_(note), file_(file) {}

  Result<Descriptor> read() {
    BALEEN_TRY(check_head());
    copy_record();
    Descriptor out;
    out.file = file_;
    out.abi_major = raw_.abi_major;
    out.abi_minor = raw_.abi_minor;
    out.kind_revision = raw_.kind_revision;
    out.score = raw_.score;
    BALEEN_TRY_ASSIGN(out.kind, text(raw_.kind, "kind"));
    BALEEN_TRY_ASSIGN(out.name, text(raw_.name, "name"));
    BALEEN_TRY_ASSIGN(out.version, text(raw_.version, "version"));
    BALEEN_TRY_ASSIGN(out.license, text(raw_.license, "licence"));
    BALEEN_TRY_ASSIGN(out.summary, text(raw_.summary, "summary"));
    BALEEN_TRY_ASSIGN(out.extension, text(raw_.extension, "extension"));
    if (!find_kind(out.kind)) return bad(unknown_word("kind", out.kind, kind_names()));
    BALEEN_TRY(check_revision(*find_kind(out.kind)));
    if (!is_word(out.name, '_')) return bad("name `" + out.name + "` is not a lower-case word");
    for (const baleen_option_t& option : raw_.options) {
      if (option.name[0] == '\0') break;
      BALEEN_TRY(add_option(option, out));
    }
    return out;
  }

 private:
  Error bad(const std::string& why) const { return invalid("bad plugin descriptor: " + why, file_.string()); }

  /// All that must hold before the bytes are taken for a record. The version comes before the sizes: another major
  /// version may have other sizes, and its number is what a user understands.
  Status check_head() const {
    baleen_note_t head{};
    const std::size_t fixed = offsetof(baleen_note_t, descriptor) + offsetof(baleen_descriptor_t, score);
    if (note_.size() < fixed) return bad("the note has only " + std::to_string(note_.size()) + " bytes");
    std::memcpy(&head, note_.data(), fixed);
    const bool owned = std::string_view(head.owner, strnlen(head.owner, sizeof head.owner)) == kOwner;
    if (!owned || head.descriptor.magic != BALEEN_DESCRIPTOR_MAGIC) return bad("it does not begin as one");
    const baleen_descriptor_t& record = head.descriptor;
    const std::string theirs = version_text(record.abi_major, record.abi_minor);
    const std::string ours = version_text(BALEEN_ABI_MAJOR, BALEEN_ABI_MINOR);
    if (record.abi_major != BALEEN_ABI_MAJOR)
      return invalid("built for plugin ABI " + theirs + ", but this Baleen has " + ours + std::string(kRebuild),
                     file_.string());
    if (record.abi_minor > BALEEN_ABI_MINOR)
      return invalid("needs plugin ABI " + theirs + ", but this Baleen has " + ours + "; update Baleen",
                     file_.string());
    // Both may have grown since: theirs are at least those of ABI 1.0 and at most ours, which is not older.
    if (record.option_size < kFirstOption || record.option_size > sizeof(baleen_option_t) ||
        record.struct_size < kOptionsAt + bytes_of_options(record.option_size) ||
        record.struct_size > sizeof(baleen_descriptor_t))
      return bad("sizes " + std::to_string(record.struct_size) + " and " + std::to_string(record.option_size) +
                 " are not those of ABI " + theirs + std::string(kRebuild));
    const std::size_t whole = offsetof(baleen_note_t, descriptor) + record.struct_size;
    if (note_.size() < whole) return bad("the note has only " + std::to_string(note_.size()) + " bytes");
    if (note_.size() > whole) return bad("two descriptors in one library");
    return {};
  }

  /// Copies the record part by part, by its own sizes: the head, the options, what follows them. What it lacks is zero.
  void copy_record() {
    const std::byte* record = note_.data() + offsetof(baleen_note_t, descriptor);
    std::memcpy(&raw_, record, kOptionsAt);
    for (std::size_t i = 0; i < BALEEN_MAX_OPTIONS; ++i)
      std::memcpy(&raw_.options[i], record + kOptionsAt + i * raw_.option_size, raw_.option_size);
    const std::size_t rest = kOptionsAt + bytes_of_options(raw_.option_size);
    std::memcpy(reinterpret_cast<std::byte*>(&raw_) + kRestAt, record + rest, raw_.struct_size - rest);
  }

  Status check_revision(const Kind& kind) const {
    const std::string head = "built for revision " + std::to_string(raw_.kind_revision) + " of the " +
                             std::string(kind.name) + " interface, but this Baleen has revision " +
                             std::to_string(kind.revision);
    if (raw_.kind_revision > kind.revision) return invalid(head + "; update Baleen", file_.string());
    if (kind.is_draft && raw_.kind_revision < kind.revision)
      return invalid(head + ", and the interface is a draft" + std::string(kRebuild), file_.string());
    return {};
  }

  template <std::size_t N>
  Result<std::string> text(const char (&field)[N], const std::string& what) const {
    const std::size_t size = strnlen(field, N);
    if (size == N) return bad(what + " is not terminated");
    return std::string(field, size);
  }

  Status add_option(const baleen_option_t& raw, Descriptor& out) const {
    Option option;
    option.type = raw.type;
    option.flags = raw.flags;
    option.minimum = raw.minimum;
    option.maximum = raw.maximum;
    BALEEN_TRY_ASSIGN(option.name, text(raw.name, "an option's name"));
    const std::string named = "option `" + option.name + "`: ";
    BALEEN_TRY_ASSIGN(option.default_value, text(raw.default_value, named + "default"));
    BALEEN_TRY_ASSIGN(const std::string choices, text(raw.choices, named + "list of choices"));
    BALEEN_TRY_ASSIGN(option.cli, text(raw.cli, named + "flag"));
    BALEEN_TRY_ASSIGN(option.help, text(raw.help, named + "help"));
    option.choices = split_choices(choices);
    if (!is_word(option.name, '_')) return bad(named + "its name is not a lower-case word");
    if (out.find(option.name)) return bad(named + "declared twice");
    if (option.flags == BALEEN_OPTION_EARLIER_NAME) {
      if (!out.find(option.default_value))
        return bad(named + "an earlier name of `" + option.default_value + "`, which is no option before it");
      out.earlier.push_back(std::move(option));
      return {};
    }
    if (Status status = check_schema(option, out.kind); !status) return bad(named + status.error().message);
    out.options.push_back(std::move(option));
    return {};
  }

  static Status check_schema(const Option& option, const std::string& kind) {
    const bool is_string = option.type == BALEEN_OPTION_STRING;
    const bool is_table = option.type == BALEEN_OPTION_TABLE;
    if (option.type < BALEEN_OPTION_BOOL || option.type > BALEEN_OPTION_TABLE)
      return invalid("unknown type " + std::to_string(option.type));
    constexpr auto kFlags = BALEEN_OPTION_REQUIRED | BALEEN_OPTION_PER_GROUP | BALEEN_OPTION_MANY | BALEEN_OPTION_PATH |
                            BALEEN_OPTION_MEMBER | BALEEN_OPTION_PER_HOST | BALEEN_OPTION_THREADS;
    if (option.flags & ~static_cast<unsigned>(kFlags)) return invalid("unknown flags " + std::to_string(option.flags));
    if (option.member() && (!is_string || option.many() || option.path() || !option.choices.empty()))
      return invalid("what names a plugin is one string of any text");
    if (option.per_host() && !option.member() && option.type != BALEEN_OPTION_INT)
      return invalid("only integers and plugins are about one host");
    if (option.threads() && (option.type != BALEEN_OPTION_INT || kind != "compute"))
      return invalid("only an integer of a compute plugin is a number of threads");
    if (std::isnan(option.minimum) || std::isnan(option.maximum)) return invalid("its range is not a number");
    if (!option.choices.empty() && !is_string && option.type != BALEEN_OPTION_FLOAT)
      return invalid("only strings and floats have choices");
    if (option.many() && !is_string) return invalid("only strings can be a list");
    if (option.path() && !is_string) return invalid("only strings can be paths");
    if (!option.cli.empty() && !is_word(option.cli, '-')) return invalid("flag `" + option.cli + "` is not a word");
    if (!option.cli.empty() && (is_table || !find_kind(kind)->has_flags))
      return invalid("it cannot be a flag of the command line");
    if (option.required()) {
      if (option.default_value.empty()) return {};
      return invalid("required, and yet it has a default");
    }
    if (is_table && option.default_value.empty()) return {};
    if (Result<UserValue> value = parse_option_text(option, option.default_value, ""); !value)
      return invalid("its default does not hold: " + value.error().message);
    return {};
  }

  std::span<const std::byte> note_;
  const std::filesystem::path& file_;
  baleen_descriptor_t raw_{};
};

}  // namespace

std::string_view Option::type_name() const {
  constexpr std::string_view kNames[] = {"?", "bool", "int", "float", "string", "schedule", "table"};
  return kNames[type <= BALEEN_OPTION_TABLE ? type : 0];
}

const Option* Descriptor::find(std::string_view option) const {
  const auto old = std::ranges::find(earlier, option, &Option::name);
  const auto found = std::ranges::find(options, old == earlier.end() ? option : old->default_value, &Option::name);
  return found == options.end() ? nullptr : &*found;
}

Status Descriptor::rename(UserValues& values) const {
  for (const Option& old : earlier) {
    auto node = values.extract(old.name);
    if (node.empty()) continue;
    if (values.contains(old.default_value))
      return invalid(title_of(*this) + ": `" + old.name + "` is an earlier name of `" + old.default_value +
                         "`, which is given too; leave out one",
                     node.mapped().where);
    node.key() = old.default_value;
    if (auto* text = std::get_if<std::string>(&node.mapped().data))
      for (const std::string& words : old.choices)
        if (words.starts_with(*text + "=")) *text = std::string(words, text->size() + 1);
    values.insert(std::move(node));
  }
  return {};
}

std::vector<std::string> Descriptor::option_names() const {
  std::vector<std::string> names;
  for (const Option& option : options) names.push_back(option.name);
  return names;
}

std::vector<const Option*> Descriptor::member_options() const {
  std::vector<const Option*> found;
  for (const Option& option : options)
    if (option.member()) found.push_back(&option);
  return found;
}

bool Option::threads() const { return flags & BALEEN_OPTION_THREADS; }

const Option* Descriptor::threads_option() const {
  const auto found = std::ranges::find_if(options, &Option::threads);
  return found == options.end() ? nullptr : &*found;
}

Result<Descriptor> parse_note(std::span<const std::byte> note, const std::filesystem::path& file) {
  return Reader(note, file).read();
}

ClaimedName claimed_name(const std::filesystem::path& file) {
  const auto note = read_elf_section(file, BALEEN_NOTE_SECTION);
  baleen_note_t head{};
  constexpr std::size_t kBytes = offsetof(baleen_note_t, descriptor) + offsetof(baleen_descriptor_t, version);
  if (!note || !*note || (*note)->size() < kBytes) return {};
  std::memcpy(&head, (*note)->data(), kBytes);
  if (head.descriptor.magic != BALEEN_DESCRIPTOR_MAGIC) return {};
  const auto word = [](const auto& field) {
    const std::string text(field, strnlen(field, sizeof field));
    return is_word(text, '_') ? text : "";
  };
  return {word(head.descriptor.kind), word(head.descriptor.name)};
}

Result<Descriptor> read_descriptor(const std::filesystem::path& file) {
  BALEEN_TRY_ASSIGN(const auto note, read_elf_section(file, BALEEN_NOTE_SECTION));
  if (!note)
    return invalid("no plugin of Baleen: it has no " BALEEN_NOTE_SECTION
                   " note (see BALEEN_DESCRIPTOR in baleen/descriptor.h)",
                   file.string());
  return parse_note(*note, file);
}

}  // namespace baleen
