-- Answers GET /moons/{name}: what a handler returns is the answer, a table becomes JSON.
local moons = require("moons")

local moon = moons[req.params.name:lower()]
if not moon then
    abort(404, "there is no moon called " .. req.params.name)
end
return moon
