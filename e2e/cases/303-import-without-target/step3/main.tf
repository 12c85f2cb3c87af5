module "m" {
  source   = "./m"
  for_each = toset(["p"])
}

import {
  to = module.other.terraform_data.c
  id = "x"
}
