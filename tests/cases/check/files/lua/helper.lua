local helper = {}
function helper.double(n) return n * 2, greeting end
return helper
