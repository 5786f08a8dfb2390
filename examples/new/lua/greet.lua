-- Answers GET /greet/{name}. A table becomes JSON; `require "greeting"` finds lua/greeting.lua.
local greeting = require "greeting"

return { greeting = greeting.of(req.params.name) }
