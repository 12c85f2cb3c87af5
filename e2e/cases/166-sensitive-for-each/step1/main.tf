variable "s" {
  type      = map(string)
  sensitive = true
  default   = { a = "x" }
}
resource "terraform_data" "x" {
  for_each = nonsensitive(var.s)
  input    = each.value
}
output "keys" {
  value = keys(terraform_data.x)
}
