module "cert" {
  source = "./module"
  domain = "example.com"
  names  = ["*.example.com", "www.example.com"]
}
output "domains" { value = module.cert.domains }
