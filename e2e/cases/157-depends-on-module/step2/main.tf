resource "terraform_data" "first" { input = "b" }
module "m" {
  source     = "./m"
  depends_on = [terraform_data.first]
}
resource "terraform_data" "last" {
  input      = "last"
  depends_on = [module.m]
}
