resource "terraform_data" "a" {
  input = "a"
}

output "gone" {
  value = "old"
}

output "gone_too" {
  value = terraform_data.a.output
}

output "kept" {
  value = 1
}
