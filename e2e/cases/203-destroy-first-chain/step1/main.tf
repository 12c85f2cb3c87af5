terraform {
  required_providers {
    null = { source = "hashicorp/null" }
  }
}

resource "null_resource" "a" {
  triggers = { version = "1" }
}
resource "null_resource" "b" {
  triggers = { a = null_resource.a.id }
}
resource "null_resource" "c" {
  triggers = { b = null_resource.b.id }
}
