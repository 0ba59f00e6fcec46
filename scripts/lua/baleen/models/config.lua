--- A model's config.json (or a table of the same keys): every key that is read is checked, and an error names it.
local core = require "baleen.core"

local config = {}
local Config = {}
Config.__index = Config

--- Names of activations in config.json, by ours.
local activations = {
  gelu = "gelu", gelu_new = "gelu_tanh", gelu_pytorch_tanh = "gelu_tanh", gelu_fast = "gelu_tanh", relu = "relu",
  silu = "silu", swish = "silu",
}

--- Of a folder its config.json. `given` may also be the path of a JSON file, or a table.
function config.open(given)
  if type(given) == "table" then return setmetatable({ values = given, file = core.where() }, Config) end
  local file = core.is_folder(given) and given .. "/config.json" or given
  local values = core.read_json(file)
  if type(values) ~= "table" then core.fail("is " .. core.describe(values) .. "; it must be an object", file) end
  return setmetatable({ values = values, file = file }, Config)
end

--- Fails at the file.
function Config:fail(message)
  core.fail(message, self.file)
end

local function read(self, name, default, expected, fits)
  local value = self.values[name]
  if value == nil then
    if default == nil then self:fail(("`%s` is missing; it must be %s"):format(name, expected)) end
    return default
  end
  if not fits(value) then self:fail(("`%s` is %s; it must be %s"):format(name, core.describe(value), expected)) end
  return value
end

--- An extent or a count, at least 1 (or `least`). Without a default it must be there.
function Config:integer(name, default, least)
  least = least or 1
  return read(self, name, default, "an integer of at least " .. least, function(value)
    return math.type(value) == "integer" and value >= least and value <= 2 ^ 40
  end)
end

--- How many there are of something that loops run over: blocks, experts.
function Config:count(name)
  return read(self, name, nil, "an integer from 1 to 10000", function(value)
    return math.type(value) == "integer" and value >= 1 and value <= 10000
  end)
end

function Config:number(name, default)
  return read(self, name, default, "a number", function(value) return type(value) == "number" end)
end

function Config:boolean(name, default)
  return read(self, name, default, "true or false", function(value) return type(value) == "boolean" end)
end

function Config:text(name, default)
  return read(self, name, default, "a text", function(value) return type(value) == "string" end)
end

function Config:table(name, default)
  return read(self, name, default, "a list or an object", function(value) return type(value) == "table" end)
end

--- Refuses a key that changes what is computed, unless it is absent or as we compute it.
function Config:only(name, expected)
  local value = self.values[name]
  if value ~= nil and value ~= expected then
    self:fail(("`%s` is %s; only %s is supported"):format(name, core.describe(value), tostring(expected)))
  end
end

--- Our name of an activation.
function Config:activation(name, default)
  local word, known = self:text(name, default), {}
  for their in pairs(activations) do known[#known + 1] = their end
  return activations[word] or self:fail(("`%s`: %s"):format(name, core.unknown_word("activation", word, known)))
end

--- The heads' number, by which the width must divide.
function Config:heads(name, width)
  local heads = self:integer(name)
  if width % heads ~= 0 then self:fail(("a width of %d does not divide into %d heads"):format(width, heads)) end
  return heads
end

--- How many classes a head has: `num_labels`, or as many as `id2label` names; 2 where neither is there.
function Config:labels()
  local count = 0
  for _ in pairs(self:table("id2label", {})) do count = count + 1 end
  return self:integer("num_labels", count > 0 and count or 2)
end

--- config.json's architecture, as "GPT2LMHeadModel"; nil where it names none.
function Config:architecture()
  return self:table("architectures", {})[1]
end

return config
