terraform {
  required_providers {
    local = { source = "hashicorp/local" }
  }
}

resource "local_file" "kept" {
  filename = "../files/kept.txt"
  content  = "kept"
}
resource "local_file" "changed" {
  filename = "../files/changed.txt"
  content  = "as configured"
}
resource "terraform_data" "after" {
  input = local_file.changed.content_md5
}
