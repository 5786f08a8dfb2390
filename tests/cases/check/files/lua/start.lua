function greeting(who) return "hello " .. who end
