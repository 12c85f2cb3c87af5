terraform {
  required_providers {
    random = { source = "hashicorp/random" }
  }
}

import {
  to = random_id.bad
  id = "not base64!"
}
resource "random_id" "bad" {
  byte_length = 8
}
