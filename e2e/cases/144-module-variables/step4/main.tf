module "m" {
  source = "./m"
  v      = null
}
output "v" {
  value = module.m.v
}
