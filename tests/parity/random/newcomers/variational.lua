-- A code that is drawn in training and its mean in evaluation; a metric of a term of the loss.
local baleen = require "baleen"
local common = require "common"
local nn, ops = baleen.nn, baleen.ops

local data = common.rows("x f32 12")
local enc = nn.sequential { name = "enc", nn.linear { out = 16, axes = { "ff" } }, nn.tanh {},
  nn.linear { out = { 2, 4 } } }
local dec = nn.sequential { name = "dec", nn.linear { out = 16, axes = { "ff" } }, nn.tanh {}, nn.linear { out = 12 } }
local part = function(h, i) return ops.reshape(ops.slice(h, 2, i, 1), { h.shape[1], 4 }) end
return common.job {
  model = function(x)
    local h = enc(x)
    local mu, lv = part(h, 1), part(h, 2)
    local z = mu
    if baleen.training() then z = mu + ops.exp(lv * 0.5) * ops.normal { x.shape[1], 4 } end
    return { recon = dec(z), mu = mu, lv = lv }
  end,
  loss = function(out, x)
    local rec = ops.sum((out.recon - x) ^ 2)
    local kl = -0.5 * ops.sum(1 + out.lv - out.mu * out.mu - ops.exp(out.lv))
    return rec + 0.1 * kl, x.shape[1]
  end,
  metrics = { kl = function(out, x) return -0.5 * ops.sum(1 + out.lv - out.mu * out.mu - ops.exp(out.lv)),
    x.shape[1] end },
  data = data,
}
