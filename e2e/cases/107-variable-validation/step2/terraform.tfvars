size = 0
name = "Bad Name"
