--- dropout { p }: while training, an element is 0 with probability p and else divided by 1 - p.
local core = require "baleen.core"
local layer = require "baleen.nn.layer"
local ops = require "baleen.ops"

return layer.define {
  kind = "dropout",
  options = { p = { type = "number", required = true, min = 0, max = 0.99 } },
  forward = function(self, x)
    if self.p == 0 or not core.learns() then return x end
    return ops.pointwise(function(value)
      return ops.select(ops.lt(ops.uniform(), self.p), 0, value / (1 - self.p))
    end, x)
  end,
}
