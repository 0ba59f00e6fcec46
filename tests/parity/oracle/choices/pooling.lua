-- Convolutions by windows with max pooling, over few levels, so that maxima are shared.
local baleen = require "baleen"
local nn, ops = baleen.nn, baleen.ops
local data = baleen.data.synthetic { fields = { "image i32 8 x 2 < 3", "label i32 < 4" }, rows = 48, held_out = 8 }
local emb = nn.embedding { name = "levels", vocab = 3, dim = 6 }
local conv = nn.layer { kind = "conv", forward = function(self, x) -- [b,l,c]
  local l, c = x.shape[2], x.shape[3]
  local w = self:parameter("w", { 3 * c, 12 }, { axes = { "", "ff" }, init = baleen.init.normal(0.2) })
  local padded, parts = ops.pad(x, 2, 1, 1), {}
  for i = 1, 3 do parts[i] = ops.slice(padded, 2, i, l) end
  return ops.matmul("blc,co->blo", ops.concat(parts, 3), w)
end }
local c1, c2, head = conv { name = "c1" }, conv { name = "c2" }, nn.linear { name = "head", out = 4 }
local function pool(x) local s = x.shape; return ops.amax(ops.reshape(x, { s[1], s[2] // 2, 2, s[3] }), 3) end
return baleen.job {
  model = function(image)
    local b = image.shape[1]
    local x = ops.reshape(emb(image), { b, 8, 12 })
    x = pool(ops.relu(c2(pool(ops.relu(c1(x))))))
    return head(ops.reshape(x, { b, -1 }))
  end,
  loss = nn.cross_entropy {}, metrics = { accuracy = nn.accuracy {} }, data = data, batch = 8, steps = 6,
  optimizer = baleen.optimizer("adamw", { lr = 1e-2 }),
}
