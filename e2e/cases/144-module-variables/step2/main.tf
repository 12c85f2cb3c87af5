module "m" {
  source = "./m"
  v      = 1
  w      = 2
}
