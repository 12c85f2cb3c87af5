terraform {
  required_providers {
    files = { source = "example.com/quickstart/files" }
  }
}

variable "name" { type = string }
variable "title" { type = string }
variable "text" { type = string }
variable "footer" { type = string }

resource "files_page" "this" {
  path    = "${var.name}/index.html"
  content = <<-EOT
    <h1>${var.title}</h1>
    <p>${var.text}</p>
    <footer>${var.footer}</footer>
  EOT
}

output "path" { value = files_page.this.path }
output "sha256" { value = files_page.this.sha256 }
