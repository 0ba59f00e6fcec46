/// \file What a GPT costs a rank, written out: bytes held and sent by formula.
///
/// L layers, h wide, V words, b rows of s tokens, a heads; two weights of norms more. N ranks along axes that cut the
/// batch, P along those that cut the tokens; t ranks of `tensor` in 1d, q² in 2d, q²d in 2.5d, q³ in 3d. M = bs / (NP)
/// tokens that a rank has beside `tensor`, and X = Mh. E elements of a rank's parameters beside ZeRO:
///
///   12Lh² + Vh weights    over t, q², q², q³       columns and rows (Shoeybi et al., arXiv 1909.08053; SUMMA: van de
///   7Lh inner biases      over t, q,  q,  q        Geijn and Watts 1997, arXiv 2104.05343 and 2105.14500; cubes:
///   2Lh + (4L + 2)h       over 1, q,  q,  q        Agarwal et al. 1995, arXiv 2105.14450)
///
/// **Model states** (Rajbhandari et al., arXiv 1910.02054, table 1, with K = 8 for fp32 and 12 beside 16 bits):
/// parameters 4E, moments 8E, gradients 4E; over Z ranks of ZeRO moments from stage 1 on, gradients from 2, parameters
/// at 3. In 16 bits gradients have 2E, there is a copy of 2E, cut at stage 3, and the fp32 parameter is one more state;
/// norms stay fp32 (Micikevicius et al., arXiv 1710.03740).
/// 3d adds up whole gradients along its depth over micro-batches (strategies/tensor/README.md): q times the weights'.
///
/// Two entries of ZeRO are a chain: stage 3 is outermost, then they come in the order of the plan. Each cuts, sums and
/// sends what those further out leave; 16-bit copies are gathered from the inside, a matrix of 4h² is half gathered.
/// Over micro-batches gradients are cut by stages 2 and 3 and by all further out.
///
/// **Activations of a layer** (Korthikanti et al., arXiv 2205.05198, table 2, without scores and masks:
/// activation_table_test.cpp lists the tensors): 16X + (4 + a)M on one rank, (4 + 12/t)X + (4 + a/t)M in 1d, all over t
/// with `megatron`, 16X over the whole grid else; statistics of norms (4M, fp32) are not cut by columns. Ulysses keeps
/// attention's result twice, by heads and by tokens; beside 3d, which gathers it again, once.
///
/// **Sent per step**, with one micro-batch, (n - 1)/n of:
///   along the batch    2 gradients (reduced, sent again: Thakur et al. 2005); ZeRO: gradients, and what is updated
///                      once (stage 3: twice, less biases, which no backward op reads)
///   along the tokens   2 gradients, over Z; ring 6X' a layer (Liu et al., arXiv 2310.01889, with keys and values sent
///                      once in backward), Ulysses 8X'/n (Jacobs et al., arXiv 2309.14509), X' = nX over the grid
///   1d                 2 (4L + 2) X (Narayanan et al., arXiv 2104.04473: 8 bsh a layer; embedding and head), and three
///                      numbers a token for the loss; `megatron`: (10L + 5) X (arXiv 2205.05198), and twice the
///                      gradients of what it leaves whole
///   2d, 2.5d           (q - 1)/q² of 3 (MK/d + KN) for each product of M x K and K x N; the head, whose table is
///                      cut as the embedding's, multiplies by its transpose: 2 MV/d + 3 Vh; 2 X/d for the embedding;
///                      along columns the sums of norms (5 numbers a token) and of the loss (3); of vectors, and
///                      in 2.5d along depth of all, 2 gradients
///   3d                 (q - 1)/q³ of 3 MK + 3 KN + 2 MN for each product, and 2 X for the embedding
/// Two entries of `tensor` cut each other's activations and weights. 1d halves the inner dimension of each product: of
/// 7X operands and 9X results of a layer 4.5 and 5.5 are left. A cube runs SUMMA on what it has gathered, q² instead of
/// q³ times less; and pieces of rows nest in another order around the embedding and the first norm, so that half of the
/// ranks exchange theirs four times. Beside a grid `megatron` gathers the embedding's gradient, (10L + 6) X, and sums
/// of norms and the embedding's rows are of half of the tokens.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "parity/plan/costs/mix.hpp"

namespace baleen::test {

struct ModelSizes {
  double layers = 3, width = 256, heads = 16, vocabulary = 1024, context = 512, batch = 128;
};

struct ClosedForms {
  double parameters = 0, copies = 0, optimizer = 0;  ///< bytes
  double gradients = 0;                              ///< at the update, over several micro-batches
  double layer = 0;                                  ///< bytes of activations of one more layer
  std::map<std::string, double> sent;                ///< bytes by mesh axis
};

ClosedForms closed_forms(const CostMix& mix, const ModelSizes& sizes);

}  // namespace baleen::test
