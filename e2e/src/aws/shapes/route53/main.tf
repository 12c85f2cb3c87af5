module "zones" {
  source = "./module"
  zones  = { "example.com" = { comment = "main" }, "example.org" = {} }
  records = [
    { zone = "example.com", name = "www", type = "A", ttl = 300, records = ["10.0.0.1"] },
    { zone = "example.com", name = "", type = "MX", records = ["10 mail.example.com"] },
    { zone = "example.org", key = "green", name = "app", type = "CNAME", records = ["a.example.com"], weight = 10 },
  ]
}
output "names" { value = module.zones.names }
