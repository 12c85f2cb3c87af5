terraform {
  required_providers {
    random = { source = "hashicorp/random" }
    null = { source = "hashicorp/null" }
  }
}

resource "random_id" "base" {
  byte_length = 12
  keepers     = { version = "1" }
}
resource "null_resource" "middle" {
  triggers = { base = random_id.base.hex }
}
resource "null_resource" "top" {
  triggers = { middle = null_resource.middle.id }
  lifecycle {
    create_before_destroy = true
  }
}
