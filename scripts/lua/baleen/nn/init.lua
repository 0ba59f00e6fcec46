--- baleen.nn: the layers, one per file.
local core = require "baleen.core"
local activation = require "baleen.nn.activation"

local nn = {
  layer = require("baleen.nn.layer").define,
  accuracy = require "baleen.nn.accuracy",
  attention = require "baleen.nn.attention",
  cross_entropy = require "baleen.nn.cross_entropy",
  dropout = require "baleen.nn.dropout",
  embedding = require "baleen.nn.embedding",
  layer_norm = require "baleen.nn.layer_norm",
  linear = require "baleen.nn.linear",
  mlp = require "baleen.nn.mlp",
  mse = require "baleen.nn.mse",
  pooling = require "baleen.nn.pooling",
  repeated = require "baleen.nn.repeated",
  residual = require "baleen.nn.residual",
  rms_norm = require "baleen.nn.rms_norm",
  rotary = require "baleen.nn.rotary",
  sequential = require "baleen.nn.sequential",
  tied = require "baleen.nn.tied",
  transformer_block = require "baleen.nn.transformer_block",
}

local names = {}
for name, make in pairs(activation) do nn[name] = make end
for name in pairs(nn) do names[#names + 1] = name end

return setmetatable(nn, {
  __index = function(_, name)
    core.fail("baleen.nn: " .. core.unknown_word("layer", tostring(name), names))
  end,
})
