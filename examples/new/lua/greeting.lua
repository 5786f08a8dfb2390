-- A module: what several handlers share.
local greeting = {}

function greeting.of(name: string): string
    return "Hello, " .. name
end

return greeting
