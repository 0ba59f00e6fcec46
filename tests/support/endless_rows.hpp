/// \file What data plugins of tests say of rows of one feature and a label of two classes, of which there are enough
/// for every run.
#pragma once
#include "baleen/data.hpp"

namespace baleen::test {

inline baleen_dataset_info_t endless_rows() {
  baleen_dataset_info_t info{};
  info.size = sizeof info;
  info.field_count = 2;
  info.fields[0] = sdk::make_field("features", BALEEN_F32, {1}, {""});
  info.fields[1] = sdk::make_field("label", BALEEN_I32, {}, {});
  info.rows[BALEEN_TRAIN] = 1 << 20;
  info.classes = 2;
  info.units_per_row = 1;
  sdk::copy_text(info.unit, "rows");
  return info;
}

}  // namespace baleen::test
