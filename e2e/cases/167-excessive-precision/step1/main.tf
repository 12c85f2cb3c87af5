locals {
  big   = 9007199254740993
  third = 1 / 3
  tiny  = 0.1 + 0.2
  huge  = 1e50
}
resource "terraform_data" "n" {
  input = [local.big, local.third, local.tiny, local.huge, local.big * local.big, 12345678901234567890.5]
}
output "n" {
  value = terraform_data.n.output
}
output "eq" {
  value = [local.tiny == 0.3, local.big == 9007199254740992]
}
