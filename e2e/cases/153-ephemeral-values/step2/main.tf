variable "token" {
  type      = string
  ephemeral = true
  default   = "t"
}
resource "terraform_data" "x" {
  input = var.token
}
