module "a" { source = "./m" }
resource "terraform_data" "after" { input = module.a.id }
