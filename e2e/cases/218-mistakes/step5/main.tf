terraform {
  required_providers {
    random = { source = "hashicorp/random" }
    local = { source = "hashicorp/local" }
  }
}

resource "random_thing" "a" {}
data "local_thing" "b" {}
