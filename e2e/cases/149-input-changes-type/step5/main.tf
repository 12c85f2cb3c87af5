resource "terraform_data" "a" {
  input = { a = tolist([]) }
}
output "o" {
  value = terraform_data.a.output
}
