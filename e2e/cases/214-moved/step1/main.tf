terraform {
  required_providers {
    random = { source = "hashicorp/random" }
    null = { source = "hashicorp/null" }
  }
}

resource "random_id" "old" {
  byte_length = 12
}
resource "null_resource" "plain" {
  triggers = { a = "1" }
}
resource "random_pet" "many" {
  count  = 2
  length = 4
}
