terraform {
  required_providers {
    archive = { source = "hashicorp/archive" }
    local = { source = "hashicorp/local" }
  }
}

data "archive_file" "zip" {
  type                    = "zip"
  output_path             = "../files/out.zip"
  source_content          = "one"
  source_content_filename = "a.txt"
}
resource "local_file" "hash" {
  filename = "../files/hash"
  content  = data.archive_file.zip.output_sha
}
