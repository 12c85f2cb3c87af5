terraform {
  required_providers {
    random = { source = "hashicorp/random" }
  }
}

resource "random_id" "a" {
  byte_length = 12
  keepers     = { version = "1" }
}
resource "random_string" "b" {
  length  = 20
  special = false
  keepers = { from = random_id.a.hex }
}
resource "random_pet" "c" {
  length    = 3
  separator = "-"
  prefix    = random_string.b.result
}
resource "random_integer" "fixed" {
  min  = 7
  max  = 7
  seed = "s"
}
resource "random_shuffle" "one" {
  input = ["only"]
}
resource "terraform_data" "after" {
  input = { id = random_id.a.hex, pet = random_pet.c.id, number = random_integer.fixed.result }
}
output "list" { value = random_shuffle.one.result }
output "pet" { value = random_pet.c.id }
