resource "terraform_data" "a" {
  input = "override"
}
output "x" {
  description = "overridden"
  value       = "${local.x}!"
}
