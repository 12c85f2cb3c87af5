resource "terraform_data" "a" {
  input = { a = [] }
}
output "o" {
  value = terraform_data.a.output
}
