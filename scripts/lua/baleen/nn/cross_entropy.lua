--- cross_entropy { ignore_index, smoothing = 0 }: the loss of logits [..., classes] against class numbers [...]
--- (from 0). Targets equal to `ignore_index` do not count.
local layer = require "baleen.nn.layer"
local ops = require "baleen.ops"

local function count(shape)
  local result = 1
  for _, extent in ipairs(shape) do result = result * extent end
  return result
end

return layer.define {
  kind = "cross_entropy",
  options = {
    ignore_index = { type = "integer" },
    smoothing = { type = "number", default = 0, min = 0, max = 1 },
  },
  forward = function(self, logits, target)
    local smoothing = self.smoothing > 0 and self.smoothing or nil
    local losses = ops.cross_entropy(logits, target, { ignore_index = self.ignore_index, smoothing = smoothing })
    if not self.ignore_index then return ops.sum(losses), count(target.shape) end
    return ops.sum(losses), ops.sum(ops.ne(target, self.ignore_index))
  end,
}
