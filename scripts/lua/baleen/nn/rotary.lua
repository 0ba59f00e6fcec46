--- rotary { base = 10000 }: turns the two halves of each head by angles that grow with the position (arXiv
--- 2104.09864, in the form "rotate half"). Input [batch, seq, heads, head_dim].
local layer = require "baleen.nn.layer"
local ops = require "baleen.ops"

return layer.define {
  kind = "rotary",
  options = { base = { type = "number", default = 10000, min = 1 } },
  forward = function(self, x)
    local width = x.shape[x.rank]
    if x.rank ~= 4 or width % 2 ~= 0 then
      self:fail("the input must be [batch, seq, heads, head_dim] with an even head_dim, and is " .. tostring(x))
    end
    local half = width // 2
    -- One angle for each position and pair, shared by batch and heads.
    local angles = { 1, x.shape[2], 1, half }
    local angle = ops.index(angles, 2) * ops.exp(ops.index(angles, 4) * (-math.log(self.base) / half))
    local cos, sin = ops.cos(angle), ops.sin(angle)
    local a, b = ops.slice(x, 4, 1, half), ops.slice(x, 4, half + 1, half)
    return ops.concat({ a * cos - b * sin, b * cos + a * sin }, 4)
  end,
}
