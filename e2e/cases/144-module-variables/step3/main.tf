module "m" {
  source = "./m"
  v      = "x"
}
