module "renamed" { source = "./m" }
module "b" {
  source = "./m"
  count  = 1
}
moved {
  from = module.a
  to   = module.renamed
}
