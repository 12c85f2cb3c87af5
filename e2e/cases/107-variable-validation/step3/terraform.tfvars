size = 5
name = "fine"
