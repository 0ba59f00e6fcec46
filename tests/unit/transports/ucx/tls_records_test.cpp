/// \file Records against RFC 8448's, and against what may not follow.
#include "tls_records.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <string_view>
#include <vector>

namespace baleen::ucx {
namespace {

using Record = std::vector<std::uint8_t>;

// RFC 8448, section 3: the secret, and the first record of data that is sent under it, of the bytes 0 to 49.
constexpr TlsRecords::Secret kSecret = {0x9e, 0x40, 0x64, 0x6c, 0xe7, 0x9a, 0x7f, 0x9d, 0xc0, 0x5a, 0xf8,
                                        0x88, 0x9b, 0xce, 0x65, 0x52, 0x87, 0x5a, 0xfa, 0x0b, 0x06, 0xdf,
                                        0x00, 0x87, 0xf7, 0x92, 0xeb, 0xb7, 0xc1, 0x75, 0x04, 0xa5};
constexpr std::array<std::uint8_t, 72> kRecord = {
    0x17, 0x03, 0x03, 0x00, 0x43, 0xa2, 0x3f, 0x70, 0x54, 0xb6, 0x2c, 0x94, 0xd0, 0xaf, 0xfa, 0xfe, 0x82, 0x28,
    0xba, 0x55, 0xcb, 0xef, 0xac, 0xea, 0x42, 0xf9, 0x14, 0xaa, 0x66, 0xbc, 0xab, 0x3f, 0x2b, 0x98, 0x19, 0xa8,
    0xa5, 0xb4, 0x6b, 0x39, 0x5b, 0xd5, 0x4a, 0x9a, 0x20, 0x44, 0x1e, 0x2b, 0x62, 0x97, 0x4e, 0x1f, 0x5a, 0x62,
    0x92, 0xa2, 0x97, 0x70, 0x14, 0xbd, 0x1e, 0x3d, 0xea, 0xe6, 0x3a, 0xee, 0xbb, 0x21, 0x69, 0x49, 0x15, 0xe4};

Record content() {
  Record bytes(50);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  return bytes;
}

Record sealed_by(TlsRecords& records, RecordKind kind, const Record& content) {
  Record record(content.size() + TlsRecords::kMore);
  records.seal(kind, content, record.data());
  return record;
}

TEST(TlsRecords, AreThoseOfTheStandard) {
  auto out = TlsRecords::make(kSecret), in = TlsRecords::make(kSecret);
  EXPECT_EQ(sealed_by(*out, RecordKind::kData, content()), Record(kRecord.begin(), kRecord.end()));
  ASSERT_EQ(TlsRecords::length_from(std::span(kRecord).first<TlsRecords::kHeaderBytes>()), kRecord.size());
  Record opened(TlsRecords::room_for(kRecord.size()));
  const auto what = in->open(kRecord, opened.data());
  ASSERT_TRUE(what);
  EXPECT_EQ(what->kind, RecordKind::kData);
  EXPECT_EQ(what->bytes, 50u);
  EXPECT_EQ(opened, content());
}

TEST(TlsRecords, OpenInTheirOrderOnly) {
  auto out = TlsRecords::make(kSecret);
  const Record first = sealed_by(*out, RecordKind::kData, content());
  const Record second = sealed_by(*out, RecordKind::kAlert, {2, 20});
  Record opened(50);
  EXPECT_FALSE(TlsRecords::make(kSecret)->open(second, opened.data()));
  auto in = TlsRecords::make(kSecret);
  EXPECT_TRUE(in->open(first, opened.data()));
  const auto what = in->open(second, opened.data());
  ASSERT_TRUE(what);
  EXPECT_EQ(what->kind, RecordKind::kAlert);
  EXPECT_EQ(what->bytes, 2u);
  EXPECT_FALSE(in->open(second, opened.data()));
}

TEST(TlsRecords, OpenUnderTheNextKeyAfterAChange) {
  auto out = TlsRecords::make(kSecret), in = TlsRecords::make(kSecret), late = TlsRecords::make(kSecret);
  Record opened(50);
  for (int change = 0; change < 3; ++change) {
    ASSERT_TRUE(out->renew());
    EXPECT_EQ(out->count(), 0u);
    ASSERT_TRUE(in->renew());
    const Record record = sealed_by(*out, RecordKind::kData, content());
    EXPECT_TRUE(in->open(record, opened.data()));
    EXPECT_FALSE(late->open(record, opened.data()));
  }
}

TEST(TlsRecords, MayBeFilledUpWithZeros) {
  // The kind of a record that we seal comes last; content that ends with a kind and zeros, under the kind 0, is a
  // record that was filled up.
  auto out = TlsRecords::make(kSecret), in = TlsRecords::make(kSecret);
  Record opened(50);
  for (const Record& filled : {Record{1, 2, 23, 0, 0}, Record{21, 0}, Record{0, 0, 0}}) {
    const auto what = in->open(sealed_by(*out, RecordKind{0}, filled), opened.data());
    ASSERT_TRUE(what);
    const bool is_empty = filled.front() == 0;
    EXPECT_EQ(what->kind, is_empty ? RecordKind{0} : filled.size() == 5 ? RecordKind::kData : RecordKind::kAlert);
    EXPECT_EQ(what->bytes, filled.size() == 5 ? 2u : 0u);
  }
}

TEST(TlsRecords, HaveALengthThatMayBe) {
  const auto length = [](std::uint8_t kind, std::size_t bytes) {
    const std::array<std::uint8_t, 5> header = {kind, 3, 3, static_cast<std::uint8_t>(bytes >> 8),
                                                static_cast<std::uint8_t>(bytes)};
    return TlsRecords::length_from(header);
  };
  EXPECT_EQ(length(23, 17), 22u);
  EXPECT_EQ(length(23, 16384 + 256), 16384u + 261);
  EXPECT_FALSE(length(23, 16));
  EXPECT_FALSE(length(23, 16384 + 257));
  EXPECT_FALSE(length(20, 1));  // a change of ciphers, which only a handshake may have
  EXPECT_FALSE(length(22, 100));
}

}  // namespace
}  // namespace baleen::ucx
