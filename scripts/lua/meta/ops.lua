---@meta baleen.ops
-- Ops on symbolic tensors; those of plugins are in kinds.lua. Dimensions count from 1; -1 is the last. Never run.

---@class baleen.tensor
---@field shape integer[]
---@field rank integer
---@field dtype string
---@field axes string[]
---@operator add(baleen.tensor | number): baleen.tensor
---@operator sub(baleen.tensor | number): baleen.tensor
---@operator mul(baleen.tensor | number): baleen.tensor
---@operator div(baleen.tensor | number): baleen.tensor
---@operator pow(baleen.tensor | number): baleen.tensor
---@operator unm: baleen.tensor

---@alias baleen.operand baleen.tensor | number
---@alias baleen.unary fun(a: baleen.operand): baleen.tensor
---@alias baleen.binary fun(a: baleen.operand, b: baleen.operand): baleen.tensor

---Every op is a method of tensors too: `x:sum(-1)`.
---@class baleen.ops
---@field neg baleen.unary
---@field abs baleen.unary
---@field sign baleen.unary
---@field floor baleen.unary
---@field sqrt baleen.unary
---@field rsqrt baleen.unary
---@field exp baleen.unary
---@field log baleen.unary
---@field sin baleen.unary
---@field cos baleen.unary
---@field tanh baleen.unary
---@field erf baleen.unary
---@field sigmoid baleen.unary
---@field relu baleen.unary
---@field gelu baleen.unary
---@field gelu_tanh baleen.unary
---@field silu baleen.unary
---@field is_finite baleen.unary 1 or 0
---@field gelu_grad baleen.unary
---@field gelu_tanh_grad baleen.unary
---@field silu_grad baleen.unary
---@field add baleen.binary
---@field sub baleen.binary
---@field mul baleen.binary
---@field div baleen.binary
---@field max baleen.binary
---@field min baleen.binary
---@field pow baleen.binary
---@field lt baleen.binary 1 or 0
---@field le baleen.binary 1 or 0
---@field eq baleen.binary 1 or 0
---@field ne baleen.binary 1 or 0
local ops = {}

---a where the condition is not 0, else b.
---@param condition baleen.operand
---@param a baleen.operand
---@param b baleen.operand
---@return baleen.tensor
function ops.select(condition, a, b) end

---The same as `select`.
---@param condition baleen.operand
---@param a baleen.operand
---@param b baleen.operand
---@return baleen.tensor
function ops.where(condition, a, b) end

---One op whose expression is what `f` does with an element of each tensor.
---@param f fun(...): ...
---@param ... baleen.tensor
---@return baleen.tensor ...
function ops.pointwise(f, ...) end

---Uniform in [0, 1). Inside a function of elements without a shape.
---@param shape? integer[]
---@return baleen.tensor
function ops.uniform(shape) end

---Standard normal. Inside a function of elements without a shape.
---@param shape? integer[]
---@return baleen.tensor
function ops.normal(shape) end

---Coordinates, from 0, along a dimension. Inside a function of elements: index(dim).
---@param shape integer[]
---@param dim integer
---@return baleen.tensor
---@overload fun(dim: integer): baleen.tensor
function ops.index(shape, dim) end

---The step, from 0.
---@return baleen.tensor
function ops.step() end

---@param value number
---@param shape? integer[]
---@return baleen.tensor
function ops.constant(value, shape) end

---Integers in the job's dtype.
---@param x baleen.tensor
---@return baleen.tensor
function ops.float(x) end

---A contraction by letters: "bsd,dhe->bshe". With c: c + a b.
---@param spec string
---@param a baleen.tensor
---@param b baleen.tensor
---@param c? baleen.tensor
---@return baleen.tensor
function ops.matmul(spec, a, b, c) end

---@param x baleen.tensor
---@param dims? integer | integer[] all unless given
---@param keep? boolean they stay with extent 1
---@return baleen.tensor
function ops.sum(x, dims, keep) end

---@param x baleen.tensor
---@param dims? integer | integer[]
---@param keep? boolean
---@return baleen.tensor
function ops.mean(x, dims, keep) end

---The largest over dimensions.
---@param x baleen.tensor
---@param dims? integer | integer[]
---@param keep? boolean
---@return baleen.tensor
function ops.amax(x, dims, keep) end

---softmax(scale q k') v over [batch, seq, heads, width]; ids that differ, or are negative, hide a pair.
---@param q baleen.tensor
---@param k baleen.tensor
---@param v baleen.tensor
---@param options? { causal?: boolean, scale?: number, ids_q?: baleen.tensor, ids_k?: baleen.tensor }
---@return baleen.tensor
function ops.attention(q, k, v, options) end

---@param x baleen.tensor
---@param k integer
---@return baleen.tensor values
---@return baleen.tensor ids
function ops.top_k(x, k) end

---@param x baleen.tensor
---@param shape integer[] one extent may be -1
---@return baleen.tensor
function ops.reshape(x, shape) end

---@param x baleen.tensor
---@param permutation integer[]
---@return baleen.tensor
function ops.transpose(x, permutation) end

---@param x baleen.tensor
---@param dim integer
---@param first integer from 1
---@param count integer
---@return baleen.tensor
function ops.slice(x, dim, first, count) end

---@param tensors baleen.tensor[]
---@param dim integer
---@return baleen.tensor
function ops.concat(tensors, dim) end

---@param x baleen.tensor
---@param dim integer
---@param before integer zeros
---@param after integer zeros
---@return baleen.tensor
function ops.pad(x, dim, before, after) end

return ops
