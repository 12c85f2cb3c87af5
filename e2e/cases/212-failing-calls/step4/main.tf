terraform {
  required_providers {
    lab = { source = "example.test/lab/lab" }
  }
}

provider "lab" {
  directory = "../lab"
}
resource "lab_object" "a" {
  name  = "a"
  size  = 2
  fault = "fail-update"
}
resource "lab_object" "b" {
  name  = "b-${lab_object.a.name}"
  fault = null
}
resource "lab_object" "c" {
  name  = "c"
  tags  = { b = lab_object.b.id }
  fault = null
}
