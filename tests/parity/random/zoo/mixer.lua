-- Layers that mix the channels of each place and, on the transposed tensor, the places of each channel.
local baleen = require "baleen"
local settings = require "settings"
local arg, init, nn, ops = baleen.arg, baleen.init, baleen.nn, baleen.ops

local places, width, regress = arg("places", 5), 3, arg("regress", false)
local points = settings.table(places * width, function(row, i)
  return regress and row[1] * row[2] + row[3] or (i + (row[1] > row[2] and 1 or 0)) % 3
end, regress and "regress" or "classify")

local embed = nn.linear { name = "embed", out = settings.dim, axes = { "embed" }, init = init.normal(0.3) }
local layers = {}
for i = 1, settings.layers do
  layers[i] = {
    nn.layer_norm { name = "place_norm_" .. i },
    nn.mlp { name = "place_mlp_" .. i, hidden = settings.hidden or 2 * places, activation = "gelu" },
    nn.layer_norm { name = "channel_norm_" .. i },
    nn.mlp { name = "channel_mlp_" .. i, hidden = 2 * settings.dim, activation = "relu" },
    nn.dropout { name = "drop_" .. i, p = settings.dropout },
  }
end
local final = nn.rms_norm { name = "final" }
local head = nn.linear { name = "head", out = regress and 1 or points.classes, init = init.normal(0.3) }

return settings.job {
  model = function(x)
    x = embed(ops.reshape(x, { x.shape[1], places, width }))
    for _, layer in ipairs(layers) do
      local place_norm, place_mlp, channel_norm, channel_mlp, drop = table.unpack(layer)
      x = x + drop(ops.transpose(place_mlp(ops.transpose(place_norm(x), { 1, 3, 2 })), { 1, 3, 2 }))
      x = x + drop(channel_mlp(channel_norm(x)))
    end
    return head(ops.mean(final(x), 2))
  end,
  loss = regress and nn.mse {} or settings.loss(), data = points,
}
