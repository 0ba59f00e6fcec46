--- rotary { base = 10000, factor = 1, low, high, context }: turns the two halves of each head by angles that grow with
--- the position (arXiv 2104.09864, in the form "rotate half"). Input [batch, seq, heads, head_dim].
---   factor: positions are divided by it, for longer sequences than a model was trained on
---   low, high, context: as Llama 3.1 does: frequencies that turn more than `high` times within `context` positions
---     stay, those below `low` times are divided by `factor`, those between go over from one to the other
local layer = require "baleen.nn.layer"
local ops = require "baleen.ops"

local function setup(self)
  local given = (self.low and 1 or 0) + (self.high and 1 or 0) + (self.context and 1 or 0)
  if given ~= 0 and given ~= 3 then self:fail("`low`, `high` and `context` are given together") end
  if self.low and self.low >= self.high then self:fail("`low` must be less than `high`") end
end

--- What a position turns each pair by.
local function frequencies(self, angles, half)
  local frequency = ops.exp(ops.index(angles, 4) * (-math.log(self.base) / half))
  if not self.low then return self.factor == 1 and frequency or frequency / self.factor end
  local turns = frequency * (self.context / (2 * math.pi))
  local kept = ops.min(ops.max((turns - self.low) / (self.high - self.low), 0), 1)
  return frequency * (kept * (1 - 1 / self.factor) + 1 / self.factor)
end

return layer.define {
  kind = "rotary",
  options = {
    base = { type = "number", default = 10000, min = 1 },
    factor = { type = "number", default = 1, min = 1 },
    low = { type = "number", min = 0 },
    high = { type = "number", min = 0 },
    context = { type = "integer", min = 1 },
  },
  setup = setup,
  forward = function(self, x)
    local width = x.shape[x.rank]
    if x.rank ~= 4 or width % 2 ~= 0 then
      self:fail("the input must be [batch, seq, heads, head_dim] with an even head_dim, and is " .. tostring(x))
    end
    local half = width // 2
    -- One angle for each position and pair, shared by batch and heads.
    local angles = { 1, x.shape[2], 1, half }
    local angle = ops.index(angles, 2) * frequencies(self, angles, half)
    local cos, sin = ops.cos(angle), ops.sin(angle)
    local a, b = ops.slice(x, 4, 1, half), ops.slice(x, 4, half + 1, half)
    return ops.concat({ a * cos - b * sin, b * cos + a * sin }, 4)
  end,
}
