local t = {}
for i = 1, 3 do
    t[i] = i
return t
