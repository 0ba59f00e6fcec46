---@meta baleen.ops.kinds
-- Ops of plugins. Written by `baleen plugins --stub` from their schemas. Never run.

---@class baleen.ops
local ops = {}

---of logits against class ids, per row
--- - ignore_index: rows with this target give 0
--- - smoothing: how much of the target's weight all classes share
---@param x baleen.tensor logits: the last dimension is that of the classes
---@param target baleen.tensor a class per row; one outside them is an error of the run
---@param options? { ignore_index?: integer, smoothing?: number }
---@return baleen.tensor loss -log softmax(logits)[target] of each row; of 16 bits in fp32
function ops.cross_entropy(x, target, options) end

---y[.., i, ..] = the sum of x[.., j, ..] over j <= i (reverse: over j >= i)
--- - dim: along which it sums
--- - reverse: from the end; false unless given
---@param x baleen.tensor any shape
---@param options { dim: integer, reverse?: boolean }
---@return baleen.tensor y the shape and dtype of x
function ops.cumsum(x, options) end

---rows of a table by ids
---@param table baleen.tensor [rows, ..]
---@param ids baleen.tensor any shape; an id outside the table is an error of the run
---@return baleen.tensor y the shape of ids, then that of a row; the dtype of the table
function ops.embedding(table, ids) end

---a row of a table for each id: equal ids have equal rows, others are spread
--- - buckets: rows of the table
--- - seed: another spreads the ids in another way; 0 unless given
---@param ids baleen.tensor int64 or int32, any shape
---@param options { buckets: integer, seed?: integer }
---@return baleen.tensor rows the shape of ids; int32, 0 to buckets - 1
function ops.hash_bucket(ids, options) end

---(x - mean) rstd gamma + beta along the last dimension; rms: without the mean
--- - kind: layer norm, or root mean square; layer unless given
--- - epsilon: added to the variance; 1e-5 unless given
---@param x baleen.tensor at least one dimension
---@param gamma baleen.tensor as long as the last dimension of x
---@param beta? baleen.tensor as gamma; of layer norms alone
---@param options? { kind?: "layer" | "rms", epsilon?: number }
---@return baleen.tensor y the shape and dtype of x
function ops.norm(x, gamma, beta, options) end

---exp(x) over its sum, along the last dimension
---@param x baleen.tensor at least one dimension
---@return baleen.tensor y the shape and dtype of x
function ops.softmax(x) end

---x rounded toward zero, at the ends of the range where it lies beyond, 0 for NaN
--- - dtype: int64 is for ids that are hashes; int32 unless given
---@param x baleen.tensor any dtype but one of 8 bits that floats, any shape
---@param options? { dtype?: "int32" | "int64" }
---@return baleen.tensor y the shape of x; int32 or int64
function ops.to_integer(x, options) end
