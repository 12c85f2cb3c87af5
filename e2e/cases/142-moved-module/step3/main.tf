resource "terraform_data" "x" { input = "./m" }
module "b" {
  source   = "./m"
  for_each = toset(["k"])
}
moved {
  from = module.renamed.terraform_data.x
  to   = terraform_data.x
}
moved {
  from = module.b[0]
  to   = module.b["k"]
}
