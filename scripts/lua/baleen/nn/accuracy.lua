--- accuracy { ignore_index }: a metric, the share of targets that have the highest logit.
local layer = require "baleen.nn.layer"
local ops = require "baleen.ops"

return layer.define {
  kind = "accuracy",
  options = { ignore_index = { type = "integer" } },
  forward = function(self, logits, target)
    local _, best = ops.top_k(logits, 1)
    local right = ops.eq(ops.reshape(best, target.shape), target)
    local counted = ops.ne(target, self.ignore_index or -1)
    return ops.sum(right * counted), ops.sum(counted)
  end,
}
