--- data.<plugin> { option = value, ... } opens a data set of that data plugin.
local core = require "baleen.core"

return setmetatable({}, {
  __index = function(_, plugin)
    return core.entry(function(options)
      return core.data(plugin, options or {}, core.where())
    end)
  end,
  __tostring = function()
    return "baleen.data: data.<plugin> { options }"
  end,
})
