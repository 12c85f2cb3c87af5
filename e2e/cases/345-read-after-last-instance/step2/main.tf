module "m" {
  source = "./m"
  count  = 0
}
data "terraform_remote_state" "d" {
  backend    = "local"
  config     = { path = "other.tfstate" }
  depends_on = [module.m]
}
resource "terraform_data" "late" {
  input = data.terraform_remote_state.d.outputs
}
