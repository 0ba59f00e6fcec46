/// \file A good descriptor is read; every field that can be wrong is refused with its own message.
#include "core/plugin/descriptor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "baleen/launcher.h"

namespace baleen {
namespace {

BALEEN_DESCRIPTOR("optimizer", "good", "1.0.0", "MIT", "A good one", 3, "",
                  BALEEN_OPTION("rate", BALEEN_OPTION_FLOAT, 0, 0, 1, "0.5", "", "", "a rate"),
                  BALEEN_OPTION("mode", BALEEN_OPTION_STRING, 0, 1, 0, "fast", "fast|exact", "", "how"));

Result<Descriptor> parse(const baleen_note_t& note, std::size_t size = sizeof(baleen_note_t)) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&note);
  return parse_note({bytes, size}, "x.so");
}

/// The message that the good descriptor gets after `change`.
std::string refused(const std::function<void(baleen_descriptor_t&)>& change) {
  baleen_note_t note = baleen_plugin_note;
  change(note.descriptor);
  const Result<Descriptor> result = parse(note);
  if (result) return "accepted";
  EXPECT_EQ(result.error().code, BALEEN_INVALID);
  EXPECT_EQ(result.error().where, "x.so");
  return result.error().message;
}

template <std::size_t N>
void set(char (&field)[N], const char* text) {
  std::strncpy(field, text, N - 1);
}

TEST(Descriptor, IsReadInFull) {
  const Result<Descriptor> result = parse(baleen_plugin_note);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->kind, "optimizer");
  EXPECT_EQ(result->name, "good");
  EXPECT_EQ(result->version, "1.0.0");
  EXPECT_EQ(result->license, "MIT");
  EXPECT_EQ(result->summary, "A good one");
  EXPECT_EQ(result->score, 3);
  ASSERT_EQ(result->options.size(), 2u);
  EXPECT_EQ(result->options[0].maximum, 1);
  EXPECT_EQ(result->options[1].choices, (std::vector<std::string>{"fast", "exact"}));
  EXPECT_EQ(result->find("rate"), &result->options[0]);
  EXPECT_EQ(result->find("none"), nullptr);
}

const std::string kMinor = std::to_string(BALEEN_ABI_MINOR);

TEST(Descriptor, RefusesAnotherAbiBeforeAnythingElse) {
  EXPECT_EQ(refused([](auto& d) {
              d.abi_major = 2;
              d.struct_size = 12;
              d.name[0] = '\0';
            }),
            "built for plugin ABI 2." + kMinor + ", but this Baleen has 1." + kMinor +
                "; build it again against this Baleen's SDK");
  EXPECT_EQ(refused([](auto& d) { d.abi_minor = 99; }),
            "needs plugin ABI 1.99, but this Baleen has 1." + kMinor + "; update Baleen");
}

TEST(Descriptor, RefusesOtherSizes) {
  EXPECT_NE(refused([](auto& d) { d.struct_size += 8; }).find("are not those of ABI 1." + kMinor), std::string::npos);
  EXPECT_NE(refused([](auto& d) { d.struct_size -= 16; }).find("are not those of ABI 1." + kMinor), std::string::npos);
  EXPECT_NE(refused([](auto& d) { d.option_size += 8; }).find("are not those of ABI 1." + kMinor), std::string::npos);
  EXPECT_NE(refused([](auto& d) { d.option_size -= 8; }).find("are not those of ABI 1." + kMinor), std::string::npos);
}

/// As ABI 1.0 had it: without what follows the options.
TEST(Descriptor, IsReadWhereItIsShorter) {
  baleen_note_t note = baleen_plugin_note;
  note.descriptor.abi_minor = 0;
  note.descriptor.struct_size = offsetof(baleen_descriptor_t, kind_revision);
  const std::size_t size = offsetof(baleen_note_t, descriptor) + note.descriptor.struct_size;
  const Result<Descriptor> result = parse(note, size);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->options.size(), 2u);
  EXPECT_EQ(result->options[1].help, "how");
  EXPECT_EQ(result->kind_revision, 0u);
  EXPECT_FALSE(parse(note, size - 1));
  const auto doubled = parse(note, size + 8);
  ASSERT_FALSE(doubled);
  EXPECT_NE(doubled.error().message.find("two descriptors"), std::string::npos);
}

TEST(Descriptor, TellsTheRevisionOfItsKind) {
  EXPECT_EQ(parse(baleen_plugin_note)->kind_revision, std::uint32_t{BALEEN_OPTIMIZER_REVISION});
  EXPECT_EQ(refused([](auto& d) { d.kind_revision = 0; }), "accepted") << "a stable kind keeps its plugins";
  EXPECT_EQ(refused([](auto& d) { d.kind_revision = 99; }),
            "built for revision 99 of the optimizer interface, but this Baleen has revision " +
                std::to_string(BALEEN_OPTIMIZER_REVISION) + "; update Baleen");
}

TEST(Descriptor, OfADraftIsOfThisRevision) {
  const auto of_strategy = [](std::uint32_t revision) {
    return refused([&](auto& d) {
      set(d.kind, "strategy");
      d.kind_revision = revision;
    });
  };
  const std::string ours = std::to_string(BALEEN_STRATEGY_REVISION);
  EXPECT_EQ(of_strategy(BALEEN_STRATEGY_REVISION), "accepted");
  EXPECT_EQ(of_strategy(BALEEN_STRATEGY_REVISION - 1),
            "built for revision " + std::to_string(BALEEN_STRATEGY_REVISION - 1) +
                " of the strategy interface, but this Baleen has revision " + ours +
                ", and the interface is a draft; build it again against this Baleen's SDK");
  EXPECT_EQ(of_strategy(BALEEN_STRATEGY_REVISION + 1),
            "built for revision " + std::to_string(BALEEN_STRATEGY_REVISION + 1) +
                " of the strategy interface, but this Baleen has revision " + ours + "; update Baleen");
}

TEST(Descriptor, RefusesAShortOrDoubledNote) {
  EXPECT_FALSE(parse(baleen_plugin_note, 10));
  EXPECT_FALSE(parse(baleen_plugin_note, sizeof(baleen_note_t) - 1));
  const baleen_note_t two[2] = {baleen_plugin_note, baleen_plugin_note};
  const auto result = parse_note(std::as_bytes(std::span(two)), "x.so");
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("two descriptors"), std::string::npos);
}

TEST(Descriptor, RefusesANoteOfSomebodyElse) {
  EXPECT_NE(refused([](auto& d) { d.magic ^= 1; }).find("does not begin as one"), std::string::npos);
  baleen_note_t note = baleen_plugin_note;
  note.owner[0] = 'G';
  EXPECT_FALSE(parse(note));
}

TEST(Descriptor, RefusesStringsWithoutAnEnd) {
  const auto fill = [](auto& field) { std::memset(field, 'x', sizeof field); };
  EXPECT_NE(refused([&](auto& d) { fill(d.kind); }).find("kind is not terminated"), std::string::npos);
  EXPECT_NE(refused([&](auto& d) { fill(d.summary); }).find("summary is not terminated"), std::string::npos);
  EXPECT_NE(refused([&](auto& d) { fill(d.options[0].help); }).find("`rate`: help is not terminated"),
            std::string::npos);
  EXPECT_NE(refused([&](auto& d) { fill(d.options[1].name); }).find("name is not terminated"), std::string::npos);
}

TEST(Descriptor, RefusesAnUnknownKind) {
  EXPECT_EQ(refused([](auto& d) { set(d.kind, "optimiser"); }),
            "bad plugin descriptor: unknown kind `optimiser`; did you mean `optimizer`?");
}

TEST(Descriptor, RefusesNamesThatAreNoWords) {
  EXPECT_NE(refused([](auto& d) { set(d.name, "../x"); }).find("not a lower-case word"), std::string::npos);
  EXPECT_NE(refused([](auto& d) { d.name[0] = '\0'; }).find("not a lower-case word"), std::string::npos);
  EXPECT_NE(refused([](auto& d) { set(d.options[0].name, "A"); }).find("not a lower-case word"), std::string::npos);
  EXPECT_NE(refused([](auto& d) { set(d.options[1].name, "rate"); }).find("declared twice"), std::string::npos);
}

TEST(Descriptor, RefusesAnEarlierNameOfNothing) {
  const auto with = [](const char* name, const char* now) {
    return refused([&](auto& d) {
      auto* const free = std::find_if(d.options, std::end(d.options), [](auto& o) { return !o.name[0]; });
      *free = {};
      free->type = BALEEN_OPTION_FLOAT;
      free->flags = BALEEN_OPTION_EARLIER_NAME;
      set(free->name, name);
      set(free->default_value, now);
    });
  };
  EXPECT_EQ(with("pace", "rate"), "accepted");
  EXPECT_NE(with("pace", "rates").find("an earlier name of `rates`, which is no option before it"), std::string::npos);
  EXPECT_NE(with("rate", "rate").find("declared twice"), std::string::npos);
}

TEST(Descriptor, RefusesASchemaThatContradictsItself) {
  const auto option = [](auto change) { return refused([&](auto& d) { change(d.options[0]); }); };
  EXPECT_NE(option([](auto& o) { o.type = 9; }).find("unknown type 9"), std::string::npos);
  EXPECT_NE(option([](auto& o) { o.flags = 256; }).find("unknown flags 256"), std::string::npos);
  EXPECT_NE(option([](auto& o) { o.minimum = __builtin_nan(""); }).find("range is not a number"), std::string::npos);
  EXPECT_NE(option([](auto& o) {
              o.type = BALEEN_OPTION_INT;
              set(o.choices, "a|b");
            }).find("only strings and floats have choices"),
            std::string::npos);
  EXPECT_NE(option([](auto& o) { o.flags = BALEEN_OPTION_MANY; }).find("only strings can be a list"),
            std::string::npos);
  EXPECT_NE(option([](auto& o) { o.flags = BALEEN_OPTION_PATH; }).find("only strings can be paths"), std::string::npos);
  EXPECT_NE(option([](auto& o) { o.flags = BALEEN_OPTION_MEMBER; }).find("one string of any text"), std::string::npos);
  EXPECT_NE(option([](auto& o) { o.flags = BALEEN_OPTION_PER_HOST; }).find("only integers and plugins are about"),
            std::string::npos);
  EXPECT_NE(option([](auto& o) { o.flags = BALEEN_OPTION_THREADS; }).find("is a number of threads"), std::string::npos);
  EXPECT_NE(option([](auto& o) { o.flags = BALEEN_OPTION_REQUIRED; }).find("yet it has a default"), std::string::npos);
  EXPECT_NE(option([](auto& o) { set(o.default_value, "2"); }).find("must be from 0 to 1, not 2"), std::string::npos);
  EXPECT_NE(option([](auto& o) { set(o.default_value, "one"); }).find("takes a number"), std::string::npos);
  EXPECT_NE(refused([](auto& d) { set(d.options[1].default_value, "slow"); }).find("unknown choice `slow`"),
            std::string::npos);
}

TEST(Descriptor, LetsOnlyKindsOfTheManifestHaveFlags) {
  EXPECT_NE(refused([](auto& d) { set(d.options[0].cli, "rate"); }).find("cannot be a flag"), std::string::npos);
  EXPECT_EQ(refused([](auto& d) {
              set(d.kind, "monitor");
              d.kind_revision = BALEEN_MONITOR_REVISION;
              set(d.options[0].cli, "rate");
            }),
            "accepted");
}

}  // namespace
}  // namespace baleen
