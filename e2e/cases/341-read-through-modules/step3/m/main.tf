resource "terraform_data" "a" {
  input = "x"
}
output "word" {
  value = terraform_data.a.output
}
