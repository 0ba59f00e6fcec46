--- attention { heads, kv_heads = heads, head_dim = dim / heads, causal = false, rotary = false, bias = true, documents,
--- init }: self-attention over [batch, seq, dim]. Called as attention(x, ids) it takes the ids of documents, [batch,
--- seq], from the caller.
---   kv_heads: fewer heads of keys and values than of queries, each shared by heads / kv_heads (arXiv 2305.13245)
---   rotary: true, or a rotary layer
---   documents: a field of the data, [batch, seq], that numbers documents; a token sees its own document only, and
---   none where it is -1
local initializer = require "baleen.initializer"
local layer = require "baleen.nn.layer"
local linear = require "baleen.nn.linear"
local ops = require "baleen.ops"
local rotary = require "baleen.nn.rotary"

local function setup(self)
  self.kv_heads = self.kv_heads or self.heads
  if self.heads % self.kv_heads ~= 0 then
    self:fail(("%d heads cannot share %d heads of keys and values; give a multiple"):format(
      self.heads, self.kv_heads))
  end
  if self.rotary == true then self.rotary = rotary {} end
  if self.rotary and not layer.is(self.rotary) then
    self:fail("`rotary` must be true, false, or a layer rotary { ... }")
  end
end

--- The linear layers, made at the first call, when the width is known.
local function make_layers(self, dim)
  if dim % self.heads ~= 0 and not self.head_dim then
    self:fail(("a width of %d does not divide into %d heads"):format(dim, self.heads))
  end
  local width = self.head_dim or dim // self.heads
  local function project(name, out, axes)
    return linear { name = name, out = out, axes = axes, bias = self.bias, init = self.init }
  end
  if self.kv_heads == self.heads then
    self.qkv = project("qkv", { 3, self.heads, width }, { "", "heads", "head_dim" })
  else
    self.q = project("q", { self.heads, width }, { "heads", "head_dim" })
    self.kv = project("kv", { 2, self.kv_heads, width }, { "", "heads", "head_dim" })
  end
  self.out = linear {
    name = "out", out = dim, over = 2, axes = { "embed" }, bias = self.bias, init = layer.residual(self.init),
  }
end

--- Part i of [batch, seq, parts, heads, width].
local function part(x, i)
  local shape = x.shape
  return ops.reshape(ops.slice(x, 3, i, 1), { shape[1], shape[2], shape[4], shape[5] })
end

local function queries_keys_values(self, x)
  if self.qkv then
    local all = self.qkv(x)
    return part(all, 1), part(all, 2), part(all, 3)
  end
  local shared = self.kv(x)
  return self.q(x), part(shared, 1), part(shared, 2)
end

return layer.define {
  kind = "attention",
  options = {
    heads = { type = "integer", required = true, min = 1 },
    kv_heads = { type = "integer", min = 1 },
    head_dim = { type = "integer", min = 1 },
    causal = { type = "boolean", default = false },
    rotary = { type = "boolean|table", default = false },
    bias = { type = "boolean", default = true },
    documents = { type = "string" },
    init = { type = "table", default = initializer.normal(0.02) },
  },
  setup = setup,
  forward = function(self, x, ids)
    if x.rank ~= 3 then self:fail("the input must be [batch, seq, dim], and is " .. tostring(x)) end
    if not self.out then make_layers(self, x.shape[3]) end
    local q, k, v = queries_keys_values(self, x)
    if self.rotary then q, k = self.rotary(q), self.rotary(k) end
    if not ids and self.documents then ids = layer.field(self.documents) end
    return self.out(ops.attention(q, k, v, { causal = self.causal, ids_q = ids, ids_k = ids }))
  end,
}
