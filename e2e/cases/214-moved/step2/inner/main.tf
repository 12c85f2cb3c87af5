terraform {
  required_providers {
    random = { source = "hashicorp/random" }
  }
}

resource "random_id" "new" {
  byte_length = 12
}
