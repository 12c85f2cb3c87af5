resource "terraform_data" "a" {
  input = null
}
output "o" {
  value = terraform_data.a.output
}
