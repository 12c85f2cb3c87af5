resource "terraform_data" "a" {
  input = 2
}
output "o" {
  value = "changed"
}
