--- What all layers share: options, a path that names their parameters, and where they stand in the script.
---
--- A layer's path is fixed by its first call: its name (or its kind's label) below the path of the layer that
--- called it. A second layer of one label in one place gets "_2". Called again, in the same graph or in another, it
--- finds the same parameters.
local core = require "baleen.core"
local initializer = require "baleen.initializer"
local options = require "baleen.options"

local layer = {}

local owners = {}                             -- layer by path
local running = { fields = {}, blocks = 0 }   -- what the layers of the present graph may ask for

local Methods = {}

local function joined(path, name)
  if path == "" then return name end
  return name == "" and path or path .. "." .. name
end

local function choose_path(self)
  local parent = core.path()
  local path = joined(parent, self.name or self.label)
  local owner = owners[path]
  if owner and self.name then
    local advice = "give one of them another name"
    if core.graph_name() ~= "train" then
      advice = "make layers outside the model's function, so that all graphs share them"
    end
    core.fail(("two layers are called `%s`; %s"):format(path, advice), self.where)
  end
  local number = 1
  while owners[path] do
    number = number + 1
    path = joined(parent, self.label .. "_" .. number)
  end
  return path
end

local Leaving = { __close = function(scope) core.leave(scope.count) end }

--- Ops and parameters belong to `self` until the result is closed.
local function enter(self)
  if core.graph_name() == "" then
    core.fail(self.kind .. ": a layer can be called only while the job's model is described", self.where)
  end
  if not self.path then
    self.path = choose_path(self)
    owners[self.path] = self
  end
  return setmetatable({ count = core.enter(self.path, self.where, self.tags) }, Leaving)
end

local function call(self, ...)
  local _scope <close> = enter(self)
  if select("#", ...) > 0 and (...) == nil then
    self:fail("it is called with nil; is the name of a field or variable misspelt?")
  end
  return core.result(self:forward(...))
end

local function print_layer(self)
  local text = (self.name and self.name .. ": " or "") .. self.kind
  local children = self:children()
  if #children == 0 then return text .. " " .. options.text(self.given) end
  local lines = {}
  for i, child in ipairs(children) do
    lines[i] = "  " .. tostring(child):gsub("\n", "\n  ")
  end
  return text .. " {\n" .. table.concat(lines, "\n") .. "\n}"
end

--- A parameter of this layer. `given`: axes (a logical name or "" per dimension), init, inputs (how many make one
--- output).
function Methods.parameter(self, name, shape, given)
  local init = given and given.init
  if type(init) ~= "table" or not init.kind then
    self:fail(("parameter `%s` needs `init`, how it starts, as in { init = baleen.init.normal(0.02) }")
      :format(tostring(name)))
  end
  return core.parameter(name, shape, given.axes or {}, initializer.resolve(init, given.inputs or 1))
end

--- Fails with the layer's path (or its kind, where it has none) and its place in the script.
function Methods.fail(self, message)
  core.fail(core.path() == "" and self.kind .. ": " .. message or message, self.where)
end

function Methods.children()
  return {}
end

--- Runs `body` with the layer's path and tags.
function Methods.within(self, body)
  local _scope <close> = enter(self)
  return body()
end

--- Makes a constructor. `definition`: kind; label (the default name, else kind); options (rules of baleen.options);
--- list (entries 1, 2, … are the layers it holds); setup(self), run when one is made; forward(self, ...); and
--- further methods.
function layer.define(definition)
  local rules = { name = { type = "string" } }
  for name, rule in pairs(definition.options or {}) do rules[name] = rule end
  local methods = setmetatable({ label = definition.label or definition.kind }, { __index = Methods })
  for name, value in pairs(definition) do
    if name ~= "options" and name ~= "list" and name ~= "label" then methods[name] = value end
  end
  local meta = { __index = methods, __call = call, __tostring = print_layer }
  return options.maker(definition.kind .. " { ... }", core.entry(function(given)
    local self = options.check(definition.kind, given, rules, definition.list)
    self.given = given or {}
    self.where = core.where()
    setmetatable(self, meta)
    if self.name and not self.name:match("^[%w_%-]+$") then
      core.fail(("%s: `name` is %q; it may hold letters, digits, `_` and `-`"):format(definition.kind, self.name))
    end
    if self.setup then self:setup() end
    return self
  end))
end

--- Is it a layer?
function layer.is(value)
  local meta = getmetatable(value)
  return type(meta) == "table" and meta.__call == call
end

--- A new graph begins: the model itself has the empty path.
function layer.begin(model, fields)
  running.fields, running.blocks = fields, 0
  if layer.is(model) and not model.path then
    model.path = model.name or ""
    owners[model.path] = model
  end
end

--- Gives a layer (loss, metric) a name, if it has none.
function layer.name(value, name)
  if layer.is(value) and not value.path and not value.name then value.name = name end
end

--- The batch's field of that name, for layers that read more than their input.
function layer.field(name)
  local names = {}
  for key in pairs(running.fields) do names[#names + 1] = key end
  return running.fields[name] or core.fail(core.unknown_word("field of the data", name, names))
end

local Restoring = { __close = function(saved) running.blocks = saved.blocks end }

--- Until the result is closed, layers stand in a stack of `count` blocks.
function layer.stack(count)
  local saved = setmetatable({ blocks = running.blocks }, Restoring)
  running.blocks = math.max(1, running.blocks) * count
  return saved
end

--- The initialiser of a weight that ends a residual branch: in a stack of n blocks its deviation is divided by
--- sqrt(2 n), so that the stream does not grow with depth (GPT-2).
function layer.residual(init)
  if running.blocks == 0 then return init end
  return initializer.scaled(init, 1 / math.sqrt(2 * running.blocks))
end

return layer
