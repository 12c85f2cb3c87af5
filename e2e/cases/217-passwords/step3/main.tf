terraform {
  required_providers {
    random = { source = "hashicorp/random" }
    local = { source = "hashicorp/local" }
  }
}

resource "random_password" "p" {
  length  = 24
  special = false
}
resource "local_sensitive_file" "f" {
  filename = "../files/password"
  content  = random_password.p.result
}
resource "local_file" "wrapped" {
  filename = "../files/wrapped"
  content  = "user:${random_password.p.result}"
}
resource "terraform_data" "d" {
  input = { password = random_password.p.result, length = length(random_password.p.result) }
}
output "password" {
  value     = random_password.p.result
  sensitive = true
}
output "length" { value = nonsensitive(length(random_password.p.result)) }
