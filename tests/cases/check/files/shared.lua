local shared = {}

function shared.text(value)
    return tostrng(value) .. req.path
end

return shared
