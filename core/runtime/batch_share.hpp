/// \file Which part of each batch a program reads on this rank: rows, and of each row what the layouts of inputs leave.
#pragma once
#include "core/runtime/dataset.hpp"

namespace baleen {

class BatchShare {
 public:
  /// Reads every row of a batch of `batch` rows whole.
  explicit BatchShare(std::int64_t batch = 0) : rows_{{0, batch}} {}
  /// What `program`'s inputs hold. Fails where they hold different rows.
  static Result<BatchShare> create(const Program& program, const baleen_dataset_info_t& info, std::int64_t batch);

  /// Of each batch; to be read.
  const std::vector<Range>& rows() const { return rows_; }
  /// Drops from the rows that were read what inputs do not hold.
  Batch cut(Batch read) const;

 private:
  /// A field that is cut within its rows.
  struct Field {
    std::size_t number = 0;  ///< among the data's fields
    Shape row;
    std::vector<Ranges> within;  ///< per dimension of the row
    std::size_t element_bytes = 0;
  };

  std::vector<Range> rows_;
  std::vector<Field> cut_fields_;
};

}  // namespace baleen
