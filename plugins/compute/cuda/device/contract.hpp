/// \file Arguments of the products that cuBLASLt does not take: any strides, any number of letters.
#pragma once
#include "layout.hpp"
#include "values.hpp"

namespace baleen::cuda {

/// y[batch, m, n] = sum over k of a[batch, m, k] b[batch, k, n], added to y where `adds`. Each group of letters is a
/// walk.
struct ContractArgs {
  Walk<3> batch;  // a, b, y
  Walk<2> m;      // a, y
  Walk<2> n;      // b, y
  Walk<2> k;      // a, b
  Values a, b, y;
  int32_t adds;
};

constexpr int kContractTile = 32;  ///< rows and columns of a block's tile; 256 threads

}  // namespace baleen::cuda
