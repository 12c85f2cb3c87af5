terraform {
  required_providers {
    random = { source = "hashicorp/random" }
    null = { source = "hashicorp/null" }
  }
}

moved {
  from = random_id.old
  to   = module.inner.random_id.new
}
moved {
  from = null_resource.plain
  to   = terraform_data.plain
}
moved {
  from = random_pet.many[0]
  to   = random_pet.many["zero"]
}
moved {
  from = random_pet.many[1]
  to   = random_pet.many["one"]
}
module "inner" {
  source = "./inner"
}
resource "terraform_data" "plain" {
  triggers_replace = { a = "1" }
}
resource "random_pet" "many" {
  for_each = toset(["zero", "one"])
  length   = 4
}
