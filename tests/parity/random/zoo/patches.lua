-- A classifier of small images that are cut into patches; a token of its own, or the mean, tells the class.
local baleen = require "baleen"
local settings = require "settings"
local arg, init, nn, ops = baleen.arg, baleen.init, baleen.nn, baleen.ops

local side, channels, patch = 4, 2, arg("patch", 2)
local pool, classes, norm = arg("pool", "mean"), arg("classes", 4), arg("norm", "layer") -- pool: mean | token
local images = settings.table(side * side * channels, function(row, i)
  return i <= classes and i - 1 or math.floor((row[1] + row[2] + 2) / 4 * classes) % classes
end)
local places = side // patch

local token = nn.layer {
  kind = "token",
  forward = function(self, x)
    local own = self:parameter("vector", { 1, 1, x.shape[3] }, { axes = { "", "", "embed" }, init = init.normal(0.1) })
    return ops.concat({ own + ops.slice(x, 2, 1, 1) * 0, x }, 2)
  end,
}
local position = nn.layer {
  kind = "position",
  forward = function(self, x)
    return x + self:parameter("table", { 1, x.shape[2], x.shape[3] }, {
      axes = { "", "seq", "embed" }, init = init.normal(0.1),
    })
  end,
}

local embed = nn.linear { name = "patches", out = settings.dim, axes = { "embed" }, init = init.normal(0.2) }
local body = nn.sequential {
  position { name = "position" },
  nn.repeated(settings.layers, function()
    return nn.transformer_block {
      heads = settings.heads, norm = norm, activation = "gelu", dropout = settings.dropout, hidden = settings.hidden,
    }
  end),
  nn.layer_norm { name = "final" },
}
local first = token { name = "token" }
local head = nn.linear { name = "head", out = images.classes, axes = { arg("head_axis", "") }, init = init.normal(0.2) }

return settings.job {
  model = function(x)
    local rows = x.shape[1]
    x = ops.transpose(ops.reshape(x, { rows, places, patch, places, patch, channels }), { 1, 2, 4, 3, 5, 6 })
    x = embed(ops.reshape(x, { rows, places * places, patch * patch * channels }))
    if pool == "mean" then return head(ops.mean(body(x), 2)) end
    return head(ops.reshape(ops.slice(body(first(x)), 2, 1, 1), { rows, settings.dim }))
  end,
  loss = settings.loss(), data = images, metrics = { accuracy = nn.accuracy {} },
}
