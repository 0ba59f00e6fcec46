-- Pictures in patches with a token of the class before them.
local baleen = require "baleen"
local common = require "common"
local init, nn, ops = baleen.init, baleen.nn, baleen.ops

local P, G, C, D = 4, 4, 3, 24
local data = common.rows("image f32 3 x height=16 x width=16", "label i32 < 5")
local cls = nn.layer { kind = "cls", forward = function(self, x)
  local d = x.shape[3]
  local token = self:parameter("token", { d }, { init = init.normal(0.02) })
  local pos = self:parameter("pos", { G * G + 1, d }, { init = init.normal(0.02) })
  local zero = ops.slice(x, 2, 1, 1) * 0
  return ops.concat({ zero + token, x }, 2) + pos
end }
local embed = nn.linear { name = "patch", out = D }
local c = cls {}
local blocks = nn.repeated(3, function() return nn.transformer_block { dim = D, heads = 3, dropout = 0.1 } end)
local norm, head = nn.layer_norm { name = "norm" }, nn.linear { name = "head", out = 5 }
return common.job {
  model = function(img)
    local b = img.shape[1]
    local x = ops.reshape(img, { b, C, G, P, G, P })
    x = ops.transpose(x, { 1, 3, 5, 2, 4, 6 })
    x = ops.reshape(x, { b, G * G, C * P * P })
    x = norm(blocks(c(embed(x))))
    return head(ops.reshape(ops.slice(x, 2, 1, 1), { b, D }))
  end,
  loss = nn.cross_entropy {}, metrics = { acc = nn.accuracy {} }, data = data,

}
