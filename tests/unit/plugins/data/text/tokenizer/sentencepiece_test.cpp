/// \file SentencePiece models that are damaged: each is refused before its library sees it.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "support/seed.hpp"
#include "tokenizer/sentencepiece_check.hpp"
#include "tokenizer/trained_tokenizer.hpp"
#include "tokenizer/trainer.hpp"

namespace {

using namespace baleen::text;

const std::string& model() {
  static const std::string made = [] {
    std::string text;
    for (int i = 0; i < 200; ++i) text += "the player number " + std::to_string(i * 7919 % 1000) + " played well\n";
    return *train_tokenizer({"sentencepiece", 60, {}}, {{"a.txt", text}}, [](const std::string&) {});
  }();
  return made;
}

/// A field of bytes, in the wire's form.
std::string field(int number, const std::string& bytes) {
  std::string out(1, static_cast<char>(number << 3 | 2));
  std::size_t size = bytes.size();
  for (; size >= 128; size >>= 7) out += static_cast<char>((size & 127) | 128);
  return out + static_cast<char>(size) + bytes;
}

std::string piece(const std::string& text, int type = 1, float score = -1) {
  std::string number(4, '\0');
  std::memcpy(number.data(), &score, 4);
  return field(1, field(1, text) + "\x15" + number + "\x18" + static_cast<char>(type));
}

std::string failure(const std::string& bytes) {
  const auto made = read_sentencepiece(bytes, "m.model");
  return made ? "" : made.error().text();
}

std::string charsmap(std::uint32_t unit, std::uint32_t first_leaf, const std::string& texts) {
  std::vector<std::uint32_t> units(256, 0x80000000u);
  units[0] = unit;
  units[1] = first_leaf;
  const std::uint32_t size = 1024;
  std::string map(4, '\0');
  std::memcpy(map.data(), &size, 4);
  map.append(reinterpret_cast<const char*>(units.data()), 1024);
  return map + texts;
}

TEST(SentencePiece, RefusesPiecesThatCannotBe) {
  const std::string unknown = piece("<unk>", 2);
  EXPECT_EQ(failure(unknown + piece("a")), "");
  EXPECT_EQ(failure(""),
            "m.model: is no SentencePiece model: it has no pieces (a file of lines in base64 is tiktoken's; give the "
            "model's tokenizer.json instead)");
  EXPECT_EQ(failure(unknown + piece("a") + piece("a")), "m.model: piece 2, `a`, stands twice");
  EXPECT_EQ(failure(unknown + piece("")), "m.model: piece 1 is no text of 1 to 4096 bytes");
  EXPECT_EQ(failure(unknown + piece("\xff")), "m.model: piece 1 is no text of 1 to 4096 bytes");
  EXPECT_EQ(failure(unknown + piece(std::string("a\0b", 3))), "m.model: piece 1 is no text of 1 to 4096 bytes");
  EXPECT_EQ(failure(unknown + piece("a", 1, NAN)), "m.model: piece 1 has no number as its score");
  EXPECT_EQ(failure(unknown + piece("a", 9)), "m.model: piece 1 is of type 9");
  EXPECT_EQ(failure(unknown + piece("<0xG0>", 6)), "m.model: piece 1 is of type byte but not <0x00> … <0xFF>");
  EXPECT_EQ(failure(piece("a")), "m.model: has 0 pieces for what is unknown; there must be one");
  EXPECT_NE(failure("IQ== 0\nIg== 1\n").find("tiktoken"), std::string::npos);
  EXPECT_NE(failure(unknown + "\x0a\x7f"
                              "a")
                .find("is damaged or cut short"),
            std::string::npos);
}

TEST(SentencePiece, RefusesTablesThatPointOutside) {
  const std::string good = piece("<unk>", 2) + piece("a");
  const auto with = [&](const std::string& map) { return failure(good + field(3, field(2, map))); };
  EXPECT_EQ(with(charsmap(0x80000000u, 0x80000000u, std::string(1, '\0'))), "");
  EXPECT_EQ(with(charsmap(300u << 10, 0, std::string(1, '\0'))),
            "m.model: its table of characters points outside its array, at unit 0");
  EXPECT_EQ(with(charsmap(1u << 10 | 1u << 8, 0x80000000u | 99, std::string(1, '\0'))),
            "m.model: its table of characters points outside its texts, at unit 1");
  EXPECT_EQ(with(charsmap(0, 0, "abc")), "m.model: its table of characters does not end its texts");
  EXPECT_EQ(with("xy"), "m.model: its table of characters has 2 bytes");
}

TEST(SentencePiece, TakesModelsOfItsOwnTrainer) { EXPECT_EQ(failure(model()), ""); }

/// Damaged models are refused or still encode; nothing crashes.
TEST(SentencePiece, SurvivesDamage) {
  std::mt19937_64 random(baleen::test::seed());
  for (int i = 0; i < 300; ++i) {
    std::string bad = model();
    for (int flips = 0; flips < 3; ++flips) bad[random() % bad.size()] = static_cast<char>(random());
    const auto made = read_sentencepiece(bad, "m.model");
    if (!made) continue;
    std::vector<std::uint32_t> ids;
    (void)(*made)->encode("the player 77 é 日本 \xe2\x96\x81", ids);
    (void)(*made)->decode(std::vector<std::int32_t>(ids.begin(), ids.end()));
  }
  for (std::size_t size = 0; size < model().size(); size += model().size() / 50)
    (void)read_sentencepiece(model().substr(0, size), "m.model");
}

}  // namespace
