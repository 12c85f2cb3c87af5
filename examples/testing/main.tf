variable "name" {
  type = string
  validation {
    condition     = length(var.name) <= 12
    error_message = "A name has at most 12 characters."
  }
}

resource "terraform_data" "site" {
  input = { host = "${var.name}.example.com" }
}

output "host" {
  value = terraform_data.site.output.host
}
