-- A student learns from a frozen teacher of another width: soft targets at a temperature, and hidden states by a
-- projection.
local baleen = require "baleen"
local common = require "common"
local nn, ops = baleen.nn, baleen.ops

local function net(name, dim, count)
  return nn.sequential { name = name, nn.embedding { name = "embedding", vocab = 9, dim = dim },
    nn.repeated(count, function() return nn.transformer_block { dim = dim, heads = 2, causal = true } end) }
end
local teacher, student = net("teacher", 12, 2), net("student", 6, 2)
local up = nn.linear { name = "up", out = 12, bias = false }
local taught = nn.linear { name = "teacher_head", out = 9, axes = { "vocab" } }
local head = nn.linear { name = "head", out = 9, axes = { "vocab" } }
local measure = nn.cross_entropy {}

return common.job {
  model = function(ids)
    local t, s = teacher(ids), student(ids)
    return { soft = taught(t), logits = head(s), apart = up(s) - t }
  end,
  loss = function(o, target)
    local loss, weight = measure(o.logits, target)
    local p, q = ops.softmax(o.soft * 0.5), ops.softmax(o.logits * 0.5)
    local soft = ops.sum(p * (ops.log(p + 1e-9) - ops.log(q + 1e-9)))
    return 0.5 * loss + 2 * soft + 0.1 * ops.sum(o.apart * o.apart), weight
  end,
  data = common.tokens(5, 9), groups = { { match = "teacher*", frozen = true } },
}
