terraform {
  required_providers {
    random = { source = "hashicorp/random" }
  }
}

import {
  to = random_string.word
  id = "imported"
}
import {
  to = random_id.number
  id = "AQIDBAUGBwg"
}
resource "random_string" "word" {
  length  = 8
  lower   = true
  special = true
}
resource "random_id" "number" {
  byte_length = 8
}
import {
  to = random_uuid.u
  id = "01234567-89ab-cdef-0123-456789abcdef"
}
resource "random_uuid" "u" {
  keepers = { v = "2" }
}
output "word" { value = random_string.word.result }
output "hex" { value = random_id.number.hex }
