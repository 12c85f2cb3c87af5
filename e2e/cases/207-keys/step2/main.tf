terraform {
  required_providers {
    tls = { source = "hashicorp/tls" }
  }
}

resource "tls_private_key" "key" {
  algorithm = "RSA"
  rsa_bits  = 1024
}
resource "tls_cert_request" "request" {
  private_key_pem = tls_private_key.key.private_key_pem
  dns_names       = ["a.example.com", "b.example.com"]
  subject {
    common_name  = "example.com"
    organization = "Example"
  }
}
data "tls_public_key" "public" {
  private_key_openssh = tls_private_key.key.private_key_openssh
}
output "algorithm" { value = data.tls_public_key.public.algorithm }
output "pem" {
  value     = tls_private_key.key.private_key_pem
  sensitive = true
}
