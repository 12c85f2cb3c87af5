variable "s" {
  type      = map(string)
  sensitive = true
  default   = { a = "x" }
}
resource "terraform_data" "x" {
  for_each = toset(nonsensitive(keys(var.s)))
  input    = var.s[each.key]
}
