module "parameters" {
  source = "./module"
  prefix = "/app"
  values = { level = "info", hosts = ["a", "b"], token = { value = "secret", secure = true }, size = 3 }
}
output "names" { value = module.parameters.names }
