s = 5
n = "1.50"
b = "true"
l = [1, "two", false]
t = [1, "2"]
set = [3, "1", 2, 3]
m = { x = "true", y = false }
o = { a = 1, extra = "dropped" }
any = { z = [1, "a"] }
never_null = null
