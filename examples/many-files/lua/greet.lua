return function(name)
    return vars.greeting .. ", " .. name
end
