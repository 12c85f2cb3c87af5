module "site" {
  source    = "./module"
  aliases   = ["www.example.com"]
  origins   = { app = { domain = "app.example.com", custom = { http_port = 80, protocols = ["TLSv1.2"] } }, files = { domain = "files.s3.amazonaws.com", path = "/public" } }
  behaviors = [{ path = "/static/*", origin = "files", ttl = 3600 }, { path = "/api/*", origin = "app", methods = ["GET", "HEAD", "OPTIONS"] }]
}
output "origins" { value = module.site.origins }
