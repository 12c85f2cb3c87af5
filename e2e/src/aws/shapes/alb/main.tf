module "front" {
  source = "./module"
  name   = "front"
  targets = {
    app = { port = 8080, health = { path = "/healthz", interval = 15 } }
    api = { port = 9090, protocol = "HTTP" }
  }
  listeners = {
    http = { port = 80, forward = "app", rules = { api = { priority = 10, paths = ["/api/*"], target = "api" } } }
    old  = { port = 81, redirect = { port = "443", protocol = "HTTPS" } }
  }
}

output "targets" { value = module.front.targets }
