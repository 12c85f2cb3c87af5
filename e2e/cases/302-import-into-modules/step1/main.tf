locals {
  keys = ["p", "q"]
}

module "m" {
  source   = "./m"
  for_each = toset(local.keys)
}

import {
  for_each = toset(local.keys)
  to       = module.m[each.value].terraform_data.c
  id       = "obj-${each.value}"
}

import {
  for_each = { one = { key = "p", index = 0 }, two = { key = "q", index = 1 } }
  to       = module.m[each.value.key].module.n[each.value.index].terraform_data.d["k"]
  id       = "deep-${each.key}"
}
