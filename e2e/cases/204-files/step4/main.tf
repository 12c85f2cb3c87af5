terraform {
  required_providers {
    local = { source = "hashicorp/local" }
  }
}

resource "local_file" "text" {
  filename        = "../files/text.txt"
  content         = "two"
  file_permission = "0600"
}
resource "local_sensitive_file" "secret" {
  filename = "../files/secret.txt"
  content  = "hush two"
}
resource "local_file" "bytes" {
  filename       = "../files/bytes.bin"
  content_base64 = base64encode("two in base64")
}
resource "local_file" "more" {
  for_each = toset(["a", "b"])
  filename = "../files/${each.key}"
  content  = each.key
}
output "hash" { value = local_file.text.content_sha256 }
output "secret" {
  value     = local_sensitive_file.secret.content
  sensitive = true
}
