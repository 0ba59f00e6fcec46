-- Images and texts in one space, each against the batch.
local baleen = require "baleen"
local common = require "common"
local init, nn, ops = baleen.init, baleen.nn, baleen.ops

local data = common.rows("image f32 10", "text i32 seq=6 < 15")
local it = nn.sequential { name = "image", nn.linear { out = 16, axes = { "ff" } }, nn.gelu {}, nn.linear { out = 8 } }
local emb = nn.embedding { name = "emb", vocab = 15, dim = 8, positions = 6 }
local tt = nn.repeated(1, function() return nn.transformer_block { dim = 8, heads = 2 } end, { name = "text" })
local scale = nn.layer { kind = "scale", forward = function(self, x)
  return x * ops.exp(self:parameter("t", { 1 }, { init = init.constant(1) })) end } { name = "scale" }
local function unit(x) return x * ops.rsqrt(ops.sum(x * x, -1, true) + 1e-6) end
return common.job {
  model = function(img, f)
    local a, b = unit(it(img)), unit(ops.mean(tt(emb(f.text)), 2))
    return scale(ops.matmul("id,jd->ij", a, b))
  end,
  loss = function(logits)
    local n = logits.shape[1]
    local mask = ops.eq(ops.index({ n, n }, 1), ops.index({ n, n }, 2))
    local function side(x) local m = ops.amax(x, -1, true);
      return ops.sum(ops.log(ops.sum(ops.exp(x - m), -1, true)) + m) - ops.sum(x * mask) end
    return 0.5 * (side(logits) + side(ops.transpose(logits, { 2, 1 }))), n
  end,
  data = data,
}
