module "m" { source = "./sub/m" }
resource "terraform_data" "x" { input = [terraform.workspace, path.module, path.root, module.m.paths] }
output "paths" { value = module.m.paths }
