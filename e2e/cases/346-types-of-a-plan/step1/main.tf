resource "terraform_data" "given" {
  input = { v = 2 }
}

output "joined" {
  value = tomap({ a = { v = "x" }, b = terraform_data.given.input, c = { v = 1 } })
}
