terraform {
  required_providers {
    local = { source = "hashicorp/local" }
  }
}

resource "local_file" "text" {
  filename        = "../files/text.txt"
  content         = "one"
  file_permission = "0644"
}
resource "local_sensitive_file" "secret" {
  filename = "../files/secret.txt"
  content  = "hush one"
}
resource "local_file" "bytes" {
  filename       = "../files/bytes.bin"
  content_base64 = base64encode("one in base64")
}

output "hash" { value = local_file.text.content_sha256 }
output "secret" {
  value     = local_sensitive_file.secret.content
  sensitive = true
}
