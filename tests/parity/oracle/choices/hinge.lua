-- A hinge loss over classes: rows lie on the hinge.
local baleen = require "baleen"
local nn, ops = baleen.nn, baleen.ops
local data = baleen.data.synthetic { features = 9, classes = 4, rows = 60, held_out = 8 }
local net = nn.sequential {
  nn.linear { name = "a", out = 20, axes = { "ff" } }, nn.relu {}, nn.linear { name = "b", out = 20 }, nn.relu {},
  nn.linear { name = "c", out = 4 },
}
return baleen.job {
  model = net,
  loss = function(o, t)
    local b = o.shape[1]
    local right = ops.eq(ops.index({ b, 4 }, 2), ops.reshape(t, { b, 1 }))
    local own = ops.sum(o * right, -1, true)
    return ops.sum(ops.max(o - own + 1 - right, 0)), b
  end,
  data = data, batch = 10, steps = 6, optimizer = baleen.optimizer("sgd", { lr = 0.05, momentum = 0.9 }),
}
