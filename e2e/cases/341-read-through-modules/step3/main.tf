module "m" {
  source = "./m"
  count  = 1
}
resource "terraform_data" "b" {
  input = module.m[0].word
}
data "terraform_remote_state" "d" {
  backend    = "local"
  config     = { path = "other.tfstate" }
  depends_on = [terraform_data.b]
}
