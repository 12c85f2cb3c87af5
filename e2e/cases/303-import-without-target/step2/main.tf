module "m" {
  source   = "./m"
  for_each = toset(["p"])
}

import {
  for_each = toset(["p", "q"])
  to       = module.m[each.key].terraform_data.c
  id       = each.key
}
