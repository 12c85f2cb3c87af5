module "m" {
  source = "./m"
  v      = "7"
}
output "v" {
  value = module.m.v
}
resource "terraform_data" "x" {
  input = module.m
}
