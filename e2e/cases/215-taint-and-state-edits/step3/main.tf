terraform {
  required_providers {
    random = { source = "hashicorp/random" }
    null = { source = "hashicorp/null" }
  }
}

resource "random_id" "a" {
  byte_length = 12
}
resource "null_resource" "b" {
  triggers = { a = random_id.a.hex }
}
resource "random_pet" "c" {
  length = 4
}
