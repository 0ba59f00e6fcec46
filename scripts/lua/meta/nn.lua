---@meta baleen.nn
-- The layers and their options. Never run.

---In the `forward` of a layer of your own, `self` also has its options.
---@class baleen.layer
---@field name? string
---@field parameter fun(self: baleen.layer, name: string, shape: integer[], given?: { axes?: string[], init?: baleen.initializer, inputs?: integer }): baleen.tensor
---@field fail fun(self: baleen.layer, message: string) ends the description with the layer's path and place
---@overload fun(x: baleen.tensor, ...): baleen.tensor

---@class baleen.nn
local nn = {}

---@alias baleen.child baleen.layer | fun(x: baleen.tensor): baleen.tensor

---@param options { name?: string, out?: integer | integer[], bias?: boolean, axes?: string[], over?: integer, init?: baleen.initializer, tied_to?: baleen.layer }
---@return baleen.layer
function nn.linear(options) end

---@param options { name?: string, vocab: integer, dim: integer, positions?: integer, init?: baleen.initializer }
---@return baleen.layer
function nn.embedding(options) end

---@param embedding baleen.layer
---@return baleen.layer
function nn.tied(embedding) end

---@param options? { name?: string, epsilon?: number, bias?: boolean }
---@return baleen.layer
function nn.layer_norm(options) end

---@param options? { name?: string, epsilon?: number }
---@return baleen.layer
function nn.rms_norm(options) end

---@param options { name?: string, p: number }
---@return baleen.layer
function nn.dropout(options) end

---@param layers baleen.child[] | { name?: string }
---@return baleen.layer
function nn.sequential(layers) end

---@param layers baleen.child[] | { name?: string }
---@return baleen.layer
function nn.residual(layers) end

---@param count integer
---@param make fun(i: integer): baleen.layer
---@param options? { name?: string }
---@return baleen.layer
function nn.repeated(count, make, options) end

---@param options? { name?: string, hidden?: integer, activation?: "gelu_tanh" | "gelu" | "relu" | "silu" | "swiglu", bias?: boolean, init?: baleen.initializer }
---@return baleen.layer
function nn.mlp(options) end

---Positions are divided by `factor`; with `low`, `high` and `context` only slow frequencies are, as in Llama 3.1.
---@param options? { name?: string, base?: number, factor?: number, low?: number, high?: number, context?: integer }
---@return baleen.layer
function nn.rotary(options) end

---@param options { name?: string, heads: integer, kv_heads?: integer, head_dim?: integer, causal?: boolean, rotary?: boolean | baleen.layer, bias?: boolean, documents?: string, init?: baleen.initializer }
---@return baleen.layer
function nn.attention(options) end

---@param options { name?: string, heads: integer, dim?: integer, kv_heads?: integer, head_dim?: integer, causal?: boolean, rotary?: boolean | baleen.layer, documents?: string, hidden?: integer, activation?: string, norm?: "layer" | "rms", epsilon?: number, dropout?: number, bias?: boolean, mlp_bias?: boolean, mlp?: baleen.layer, init?: baleen.initializer }
---@return baleen.layer
function nn.transformer_block(options) end

---Of the vectors of each list their mean or sum; `length` is the field of the data with the lists' lengths.
---@param options { name?: string, length: string, kind?: "mean" | "sum" }
---@return baleen.layer
function nn.pooling(options) end

---@param options? { name?: string }
---@return baleen.layer
function nn.relu(options) end

---@param options? { name?: string }
---@return baleen.layer
function nn.gelu(options) end

---@param options? { name?: string }
---@return baleen.layer
function nn.gelu_tanh(options) end

---@param options? { name?: string }
---@return baleen.layer
function nn.silu(options) end

---@param options? { name?: string }
---@return baleen.layer
function nn.tanh(options) end

---@param options? { name?: string }
---@return baleen.layer
function nn.sigmoid(options) end

---@param options? { name?: string, ignore_index?: integer, smoothing?: number }
---@return baleen.measure
function nn.cross_entropy(options) end

---@param options? { name?: string }
---@return baleen.measure
function nn.mse(options) end

---@param options? { name?: string, ignore_index?: integer }
---@return baleen.measure
function nn.accuracy(options) end

---Makes a constructor for a kind of layer of your own; see scripts/lua/baleen/nn/layer.lua.
---@param definition { kind: string, label?: string, options?: table, list?: boolean, setup?: function, forward: function, [string]: function }
---@return fun(options?: table): baleen.layer
function nn.layer(definition) end

return nn
