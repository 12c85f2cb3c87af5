resource "terraform_data" "u" {
  input = "x"
}

output "number" {
  value = tonumber(terraform_data.u.output)
}

output "fine" {
  value = terraform_data.u.output
}
