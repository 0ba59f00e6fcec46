--- linear { out, bias = true, axes, over = 1, init, tied_to }: y = x W + b over the last dimensions of x.
---   out: extent, or list of extents, of the result in place of the last `over` dimensions
---   axes: a logical axis for each of them
---   tied_to: an embedding whose table serves as W, transposed
local initializer = require "baleen.initializer"
local layer = require "baleen.nn.layer"
local ops = require "baleen.ops"
local options = require "baleen.options"

local letters = "abcdefghijklmnopqrstuvwxyz"

local function list(value)
  return type(value) == "table" and value or { value }
end

local function product(numbers)
  local result = 1
  for _, number in ipairs(numbers) do result = result * number end
  return result
end

local function setup(self)
  if self.tied_to and (not layer.is(self.tied_to) or self.tied_to.kind ~= "embedding") then
    self:fail("`tied_to` must be an embedding")
  end
  if not self.out and not self.tied_to then self:fail("option `out` is missing") end
  if self.out and self.tied_to and self.out ~= self.tied_to.vocab then
    self:fail(("`out` is %s, but the embedding it is tied to has %d rows"):format(self.out, self.tied_to.vocab))
  end
  if type(self.out) == "table" then options.expect_list("linear: `out`", self.out, "{ 4, 8 }") end
  options.expect_list("linear: `axes`", self.axes, '{ "heads", "" }')
  for _, extent in ipairs(list(self.out)) do
    if math.type(extent) ~= "integer" or extent < 1 then
      self:fail(("`out` holds %s; extents are integers from 1 on"):format(extent))
    end
  end
end

--- W, and the letters of its dimensions: those of `inner`, then as many new ones.
local function weight_of(self, x, inner, fresh)
  if self.tied_to then return self.tied_to:weight(), fresh .. inner end
  local shape, axes = {}, {}
  for i = x.rank - self.over + 1, x.rank do
    shape[#shape + 1] = x.shape[i]
    axes[#axes + 1] = x.axes[i]
  end
  local inputs = product(shape)
  for i, extent in ipairs(list(self.out)) do
    shape[#shape + 1] = extent
    axes[#axes + 1] = list(self.axes)[i] or ""
  end
  return self:parameter("weight", shape, { axes = axes, init = self.init, inputs = inputs }), inner .. fresh
end

return layer.define {
  kind = "linear",
  options = {
    out = { type = "integer|table" },
    bias = { type = "boolean", default = true },
    axes = { type = "table", default = {} },
    over = { type = "integer", default = 1, min = 1 },
    init = { type = "table", default = initializer.normal(0.02) },
    tied_to = { type = "table" },
  },
  setup = setup,
  forward = function(self, x)
    if x.rank < self.over then
      self:fail(("the input must have at least %d dimensions, and is %s"):format(self.over, tostring(x)))
    end
    local out = self.out and list(self.out) or { self.tied_to.vocab }
    local outer, inner = letters:sub(1, x.rank - self.over), letters:sub(x.rank - self.over + 1, x.rank)
    local fresh = letters:sub(x.rank + 1, x.rank + #out)
    local weight, weight_letters = weight_of(self, x, inner, fresh)
    local y = ops.matmul(("%s,%s->%s"):format(outer .. inner, weight_letters, outer .. fresh), x, weight)
    if not self.bias then return y end
    return y + self:parameter("bias", out, { axes = list(self.axes), init = initializer.zeros })
  end,
}
