module "m" {
  source   = "./m"
  for_each = toset(["p"])
}

import {
  for_each = toset(["p"])
  to       = module.m[each.key].terraform_data.missing
  id       = each.key
}
