size = 3
name = "ok"
