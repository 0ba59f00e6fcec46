-- Pairs and lists are ranked: a list's scores against each other, a margin, and the batch's own hardest pair.
local baleen = require "baleen"
local common = require "common"
local nn, ops = baleen.nn, baleen.ops

local score = nn.sequential { name = "score", nn.linear { name = "up", out = 10, axes = { "ff" } }, nn.relu {},
  nn.linear { name = "down", out = 1 } }
local user = nn.embedding { name = "user", vocab = 7, dim = 4 }

return common.job {
  model = function(items, f) -- [b, 5, 4]
    local b = items.shape[1]
    return ops.reshape(score(items * ops.reshape(user(f.user), { b, 1, 4 })), { b, 5 })
  end,
  loss = function(s, gain)
    local b = gain.shape[1]
    local function pairs_of(x) return ops.reshape(x, { b, 5, 1 }) - ops.reshape(x, { b, 1, 5 }) end
    local better = ops.lt(0, pairs_of(gain))
    local margin = ops.relu(0.3 - pairs_of(s)) * better
    local hardest = ops.amax(ops.amax(margin, 3), 2)
    local list = ops.sum(ops.softmax(gain) * (ops.reshape(common.log_sum_exp(s), { b, 1 }) - s))
    return ops.sum(margin) + ops.sum(hardest) + list, ops.sum(better) + 1
  end,
  input = "items", target = "gain", data = common.rows("items f32 5 x 4", "user i32 < 7", "gain f32 5"),
}
