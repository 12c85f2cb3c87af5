terraform {
  required_providers {
    lab = { source = "example.test/lab/lab" }
  }
}

provider "lab" {
  directory = "../lab"
}
resource "lab_object" "base" {
  name = "three"
  lifecycle { create_before_destroy = true }
}
resource "lab_object" "user" {
  name = "user"
  tags = { base = lab_object.base.id }
}
resource "lab_object" "named" {
  name = "after-${lab_object.base.id}"
}
