terraform {
  required_providers {
    random = { source = "hashicorp/random" }
  }
}

resource "random_id" "a" {
  byte_length = 8
}
resource "random_string" "b" {
  length = 8
}
output "hex" { value = random_id.a.hex }
