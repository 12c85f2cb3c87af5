variable "token" {
  type      = string
  ephemeral = true
  default   = "t"
}
module "m" {
  source = "./m"
  token  = var.token
}
resource "terraform_data" "x" { input = ephemeralasnull(var.token) }
