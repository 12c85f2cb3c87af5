module "cluster" {
  source   = "./module"
  name     = "main"
  services = { web = { image = "nginx", port = 80, count = 2, env = { LEVEL = "info" } }, job = { image = "busybox" } }
}
output "families" { value = module.cluster.families }
