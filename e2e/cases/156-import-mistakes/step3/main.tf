resource "terraform_data" "a" {}
import {
  to = terraform_data.a
  id = "given-id"
}
import {
  to = terraform_data.a
  id = "other"
}
