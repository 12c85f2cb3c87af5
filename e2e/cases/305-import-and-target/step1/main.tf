resource "terraform_data" "other" {
}

resource "terraform_data" "source" {
  input = "id"
}

resource "terraform_data" "a" {
  for_each = toset(["k"])
}

import {
  for_each = toset(["k"])
  to       = terraform_data.a[each.key]
  id       = "obj-${each.key}"
}
